import ArgumentParser
import Glibc
import Netwatch
import NetwatchEventLoop

/// Standard output.
enum Output {
  /// Whether the locale has more than ASCII.
  static var isUnicode: Bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"]
    let locale = names.lazy.compactMap { String(environment: $0) }.first { !$0.isEmpty } ?? ""
    return locale.uppercased().contains("UTF-8") || locale.uppercased().contains("UTF8")
  }

  /// Writes all of it. A reader that leaves ends the process, as SIGPIPE does by default.
  static func write(_ text: String) throws(SystemError) {
    let bytes = [UInt8](text.utf8)
    try unsafe FileDescriptor.writeAll(bytes.span.bytes, to: STDOUT_FILENO)
  }
}

/// Runs a command's work; what stops it is told on standard error, and the exit status becomes 2.
func reporting(_ body: () throws -> Void) throws {
  StandardError.keepPlace()
  do {
    try body()
  } catch {
    guard error is PlainError || error is SystemError else { throw error }
    StandardError.tell("\(error)".harmless)
    throw ExitCode(2)
  }
}
