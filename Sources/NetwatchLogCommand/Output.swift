import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Standard output.
enum Output {
  /// Whether the locale is a UTF-8 locale, so that characters beyond ASCII can be shown.
  static var isUnicode: Bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"]
    let locale = names.lazy.compactMap { String(environment: $0) }.first { !$0.isEmpty } ?? ""
    return locale.uppercased().contains("UTF-8") || locale.uppercased().contains("UTF8")
  }

  /// Writes the whole text. If the reader is gone, SIGPIPE ends the process, because that is its default.
  static func write(_ text: String) throws(SystemError) {
    let bytes = [UInt8](text.utf8)
    try unsafe FileDescriptor.writeAll(bytes.span.bytes, to: STDOUT_FILENO)
  }
}
