import Netwatch
import NetwatchTestSupport

/// Remembers what it is told of requests.
final class RecordingObserver: RequestObserver {
  enum Event: Hashable, Sendable { case began(isIndicated: Bool), ended }

  private let events = InlineLock<[(RequestID, Event)]>([])

  func began(_ id: RequestID, isIndicated: Bool) {
    events.withLock { $0.append((id, .began(isIndicated: isIndicated))) }
  }
  func ended(_ id: RequestID) { events.withLock { $0.append((id, .ended)) } }

  /// Of all requests, in order.
  var all: [Event] { events.withLock { $0.map(\.1) } }

  /// Waits for as many.
  func first(_ count: Int) async throws -> [Event] {
    try await eventually { self.all.count >= count ? self.all : nil }
  }
}

/// Waits until `look` finds something. Other suites may keep all threads of the pool for a minute; the deadline is longer.
func eventually<Value>(_ look: () async throws -> Value?) async throws -> Value {
  let deadline = ContinuousClock.now + .seconds(300)
  while true {
    if let value = try await look() { return value }
    guard .now < deadline else { throw TestFailure("nothing has come in 300 s") }
    try await Task.sleep(for: .milliseconds(2))
  }
}

/// A value that callbacks write.
final class Box<Value: Sendable>: Sendable {
  private let value: InlineLock<Value>
  init(_ value: Value) { self.value = InlineLock(value) }
  var now: Value { value.withLock { $0 } }
  func change(_ body: (inout Value) -> Void) {
    value.withLock { value in
      var copy = value
      body(&copy)
      value = copy
    }
  }

  /// Changes the value, and returns what `body` makes of it meanwhile.
  func changed<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
    value.withLock { value in body(&value) }
  }
}
