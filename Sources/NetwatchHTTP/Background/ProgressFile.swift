import NetwatchEventLoop

/// The progress of a running transfer, for other processes: four numbers in one line, with `-` for a length that is not known.
package final class ProgressFile: Sendable {
  static let interval = Duration.milliseconds(250)

  private let name: FileName
  private let file: OpenFile

  init(_ path: String) throws(HTTPError) {
    name = try FileName(path)
    file = try OpenFile.createTrusted(name, rights: 0o600)
    write(HTTPProgress())
  }

  /// Writes the progress in place. It is of no use after the process, so it is not flushed, and a failure does no harm.
  func write(_ progress: HTTPProgress) {
    func text(_ number: Int64?) -> String {
      let digits = number.map { "\($0)" } ?? "-"
      return String(repeating: " ", count: max(0, 20 - digits.utf8.count)) + digits
    }
    let fields = [progress.received, progress.totalToReceive, progress.sent, progress.totalToSend]
    let line = fields.map(text).joined(separator: " ") + "\n"
    try? file.write(Array(line.utf8), at: 0, named: name.path)
  }

  func remove() { name.remove() }

  /// Reads the progress of a transfer; nil if it does not run.
  package static func read(_ path: String) -> HTTPProgress? {
    guard let fields = FileDescriptor.text(of: path)?.split(separator: " "), fields.count == 4,
      let received = Int64(fields[0]), let sent = Int64(fields[2])
    else { return nil }
    var progress = HTTPProgress()
    (progress.received, progress.totalToReceive) = (received, Int64(fields[1]))
    (progress.sent, progress.totalToSend) = (sent, Int64(fields[3]))
    return progress
  }
}
