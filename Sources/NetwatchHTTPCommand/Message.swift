import Glibc
import Netwatch

/// What is told on standard error.
enum Message {
  /// A closed descriptor would become the number of the next one that is opened, and sentences would go into the download.
  static func keepPlace() {
    guard fcntl(STDERR_FILENO, F_GETFD) < 0 else { return }
    let null = unsafe open("/dev/null", O_WRONLY)
    guard null >= 0, null != STDERR_FILENO else { return }
    dup2(null, STDERR_FILENO)
    close(null)
  }

  /// A sentence of its own line.
  static func tell(_ sentence: String) { write("netwatch: \(sentence.harmless)\n") }

  /// In one write, so that it is not torn apart. What can not be written is lost, as all would be.
  static func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in _ = unsafe Glibc.write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
  }
}
