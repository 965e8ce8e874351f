import NetwatchEventLoop
import NetwatchStream

/// Prints records, each in one write.
protocol LineRenderer: AnyObject {
  /// Looks at the world where the look of a line depends on it.
  func prepare(on loop: EventLoop) throws
  func print(_ record: EventRecord, to output: StandardOutput) throws(CommandFailure)
  /// Whether a record gives a line; `print` prints nothing for those that do not.
  func shows(_ record: EventRecord) -> Bool
}

extension LineRenderer {
  func shows(_ record: EventRecord) -> Bool { true }
}

/// The JSON stream.
final class JSONRenderer: LineRenderer {
  private var writer = JSONLineWriter()

  func prepare(on loop: EventLoop) {}

  func print(_ record: EventRecord, to output: StandardOutput) throws(CommandFailure) {
    writer.write(record)
    try writer.withLine { line throws(CommandFailure) in try output.write(line) }
  }
}
