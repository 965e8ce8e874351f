import Netwatch
import NetwatchTestSupport
import Testing

/// An observer that keeps the events of all requests.
final class RecordingObserver: RequestObserver {
  enum Event: Hashable, Sendable { case began(isIndicated: Bool), ended }

  private let events = Lock<[(RequestID, Event)]>([])

  func began(_ id: RequestID, isIndicated: Bool) {
    events.withLock { $0.append((id, .began(isIndicated: isIndicated))) }
  }
  func ended(_ id: RequestID) { events.withLock { $0.append((id, .ended)) } }

  /// The events of all requests, in the order in which they came.
  var all: [Event] { events.withLock { $0.map(\.1) } }

  /// Waits until at least `count` events have come, and returns all of them.
  func first(_ count: Int) async throws -> [Event] {
    try await eventually(self.all) { $0.count >= count }
  }
}

/// A value that callbacks change, on any thread.
final class Box<Value: Sendable>: Sendable {
  private let value: Lock<Value>
  init(_ value: Value) { self.value = Lock(value) }
  var now: Value { value.withLock { $0 } }
  func change(_ body: (inout Value) -> Void) { value.withLock { body(&$0) } }

  /// Changes the value, and returns the result of `body`. No other thread sees the value meanwhile.
  func changed<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    value.withLock { body(&$0) }
  }
}
