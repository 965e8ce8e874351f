import Glibc

/// What netwatch's programs say on standard error.
package enum StandardError {
  /// Tells a sentence, after the name of the program and on a line of its own.
  ///
  /// What strangers have written has to be made harmless before.
  package static func tell(_ sentence: String) { write("netwatch: \(sentence)\n") }

  /// Writes at once, so that nothing else comes between. What cannot be written is lost, as all would be.
  package static func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in _ = unsafe Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
  }

  /// Opens `/dev/null` in its place if it is closed: the next file would get its number, and sentences go into that.
  package static func keepPlace() {
    guard fcntl(STDERR_FILENO, F_GETFD) < 0 else { return }
    let null = unsafe open("/dev/null", O_WRONLY)
    guard null >= 0, null != STDERR_FILENO else { return }
    dup2(null, STDERR_FILENO)
    close(null)
  }
}
