import NetwatchLibC

/// Writes messages of netwatch's programs to standard error.
package enum StandardError {
  /// Writes a sentence after the name of the program, on its own line.
  ///
  /// Text from outside has to be made harmless for a terminal before.
  package static func warn(_ sentence: String) { write("netwatch: \(sentence)\n") }

  /// Writes a sentence that only a person at a terminal needs.
  package static func warnTerminal(_ sentence: String) {
    if isatty(STDERR_FILENO) == 1, isatty(STDOUT_FILENO) == 1 { warn(sentence) }
  }

  /// Writes a text at once, so that no other output comes in between. Text that cannot be written is lost.
  package static func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in _ = unsafe NetwatchLibC.write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
  }

  /// Opens `/dev/null` as standard error if that is closed. Otherwise the next file would get its number, and messages would be
  /// written to that file.
  package static func keepPlace() {
    guard fcntl(STDERR_FILENO, F_GETFD) < 0 else { return }
    let null = unsafe open("/dev/null", O_WRONLY)
    guard null >= 0, null != STDERR_FILENO else { return }
    dup2(null, STDERR_FILENO)
    close(null)
  }
}
