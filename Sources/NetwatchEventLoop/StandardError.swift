import Glibc

/// Writes messages of netwatch's programs to standard error.
package enum StandardError {
  /// Writes a sentence after the name of the program, on its own line.
  ///
  /// Text from outside has to be made harmless for a terminal before.
  package static func tell(_ sentence: String) { write("netwatch: \(sentence)\n") }

  /// Writes a text at once, so that no other output comes in between. Text that cannot be written is lost.
  package static func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in _ = unsafe Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
  }

  /// Makes the process end with status 2 and a sentence if a text such as a help, which waits in a buffer until the end, cannot be
  /// written to standard output. A reader that has gone is not an error.
  package static func tellOfLostOutput() {
    atexit {
      guard fflush(nil) != 0, errno != EPIPE else { return }
      StandardError.tell("cannot write to standard output: \(SystemError.last("write").message)")
      _exit(2)
    }
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
