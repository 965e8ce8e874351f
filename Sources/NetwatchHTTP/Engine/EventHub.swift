import Netwatch

/// Tells observers and readers of sequences what happens to the tasks of a session. On the loop's thread.
final class EventHub {
  private let observers: [any HTTPEventObserver]
  private var streams: [UInt64: AsyncStream<HTTPEvent>.Continuation] = [:]
  private var lastStream: UInt64 = 0
  /// Whether anybody wants to hear of anything: otherwise no event is made.
  private(set) var isObserved: Bool

  init(_ observers: [any HTTPEventObserver]) {
    self.observers = observers
    isObserved = !observers.isEmpty
  }

  func tell(_ event: HTTPEvent) {
    for observer in observers { observer.handle(event) }
    for stream in streams.values { stream.yield(event) }
  }

  /// - Returns: what ``remove(_:)`` takes.
  func add(_ stream: AsyncStream<HTTPEvent>.Continuation) -> UInt64 {
    lastStream += 1
    streams[lastStream] = stream
    isObserved = true
    return lastStream
  }

  func remove(_ stream: UInt64) {
    streams[stream] = nil
    isObserved = !observers.isEmpty || !streams.isEmpty
  }

  /// Nothing happens any more.
  func end() {
    for stream in streams.values { stream.finish() }
    streams = [:]
    isObserved = false
  }
}
