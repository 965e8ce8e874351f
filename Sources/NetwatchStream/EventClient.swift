import Glibc
import Netwatch
import NetwatchEventLoop

/// A connection to a service, on a loop.
final class EventClient {
  struct Handlers {
    /// A line of the stream, and what the service says about itself in it: in the first line of a connection.
    let record: (EventRecord, ServiceIdentity?) -> Void
    /// What is not an event: an answer, an error.
    let answer: (JSONValue) -> Void
    /// The service is gone. Called once, from the loop.
    let lost: () -> Void
  }

  /// A list of every link can be long; what is longer comes from no service of ours.
  private static let lineLimit = 4 << 20
  private static let readSize = 16 << 10

  private let loop: EventLoop
  private let descriptor: FileDescriptor
  private let handlers: Handlers
  private var registration: EventLoop.Registration?
  private var input: [UInt8] = []
  private var output: [UInt8] = []
  private var isLost = false

  init(_ descriptor: consuming FileDescriptor, on loop: EventLoop, handlers: Handlers) throws(SystemError) {
    self.descriptor = descriptor
    self.loop = loop
    self.handlers = handlers
    registration = try loop.watch(self.descriptor.rawValue, for: .readable) { [unowned self] readiness in
      serve(readiness)
    }
  }

  deinit { if let registration { loop.remove(registration) } }

  /// Sends text that ends with a newline, now or when there is room.
  func send(_ text: String) {
    guard !isLost else { return }
    let wasEmpty = output.isEmpty
    output += Array(text.utf8)
    if wasEmpty { flush() }
  }

  private func flush() {
    while !output.isEmpty {
      let count = unsafe output.withUnsafeBytes {
        unsafe Glibc.send(descriptor.rawValue, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
      }
      if count < 0, errno == EINTR { continue }
      // An error shows as a hang-up too.
      guard count > 0 else { break }
      output.removeFirst(count)
    }
    if let registration { try? loop.change(registration, to: output.isEmpty ? .readable : [.readable, .writable]) }
  }

  private func serve(_ readiness: EventLoop.Readiness) {
    if readiness.contains(.writable) { flush() }
    guard readiness.contains(.readable) || readiness.hasHungUp else { return }
    while !isLost {
      let count = unsafe withUnsafeTemporaryAllocation(byteCount: Self.readSize, alignment: 1) { buffer in
        let count = unsafe recv(descriptor.rawValue, buffer.baseAddress, buffer.count, 0)
        if count > 0 { unsafe input.append(contentsOf: buffer[..<count]) }
        return count
      }
      if count > 0 {
        takeLines()
        if count < Self.readSize { return }
        continue
      }
      if count < 0, errno == EINTR { continue }
      if count < 0, errno == EAGAIN { return }
      return lose()
    }
  }

  private func takeLines() {
    var start = input.startIndex
    while !isLost, let end = input[start...].firstIndex(of: UInt8(ascii: "\n")) {
      let line = input[start..<end]
      start = end + 1
      guard let value = JSONValue(line) else { continue }
      if let record = EventRecord(value) {
        handlers.record(record, value["service"].map { ServiceIdentity($0) })
      } else {
        handlers.answer(value)
      }
    }
    input.removeSubrange(..<start)
    if input.count > Self.lineLimit { lose() }
  }

  private func lose() {
    guard !isLost else { return }
    isLost = true
    if let registration { loop.remove(registration) }
    registration = nil
    handlers.lost()
  }
}
