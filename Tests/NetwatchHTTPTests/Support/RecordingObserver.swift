import Netwatch
import NetwatchTestSupport
import Testing

/// Remembers what it is told of requests.
final class RecordingObserver: RequestObserver {
  enum Event: Hashable, Sendable { case began(isIndicated: Bool), ended }

  private let events = Lock<[(RequestID, Event)]>([])

  func began(_ id: RequestID, isIndicated: Bool) {
    events.withLock { $0.append((id, .began(isIndicated: isIndicated))) }
  }
  func ended(_ id: RequestID) { events.withLock { $0.append((id, .ended)) } }

  /// Of all requests, in order.
  var all: [Event] { events.withLock { $0.map(\.1) } }

  /// Waits for as many.
  func first(_ count: Int) async throws -> [Event] {
    try await eventually(self.all) { $0.count >= count }
  }
}

/// A value that callbacks write.
final class Box<Value: Sendable>: Sendable {
  private let value: Lock<Value>
  init(_ value: Value) { self.value = Lock(value) }
  var now: Value { value.withLock { $0 } }
  func change(_ body: (inout Value) -> Void) { value.withLock { body(&$0) } }

  /// Changes the value, and returns what `body` makes of it meanwhile.
  func changed<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    value.withLock { body(&$0) }
  }
}
