import NetwatchEventLoop
import NetwatchStream

/// Turns records into what is printed.
protocol LineRenderer {
  /// Looks at the world where the look of a line depends on it.
  mutating func prepare(on loop: EventLoop) throws
  /// The bytes of one write, their newline included.
  mutating func render(_ record: EventRecord) -> [UInt8]
}

/// The JSON stream.
struct JSONRenderer: LineRenderer {
  let listsInterfaces: Bool
  private var writer = JSONLineWriter()

  init(listsInterfaces: Bool) { self.listsInterfaces = listsInterfaces }

  func prepare(on loop: EventLoop) {}

  mutating func render(_ record: EventRecord) -> [UInt8] {
    var record = record
    record.listsInterfaces = listsInterfaces
    writer.write(record)
    return writer.line
  }
}
