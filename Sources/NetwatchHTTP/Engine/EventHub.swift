import Netwatch

/// Sends the events of an engine's tasks to observers and to the readers of sequences. Belongs to the engine's thread.
final class EventHub {
  private let observers: [any HTTPEventObserver]
  private var readers: [EventReader] = []
  /// Whether there is an observer or a reader. Otherwise no event is made.
  private(set) var isObserved: Bool

  init(_ observers: [any HTTPEventObserver]) {
    self.observers = observers
    isObserved = !observers.isEmpty
  }

  func emit(_ event: HTTPEvent) {
    for observer in observers { observer.handle(event) }
    for reader in readers { reader.emit(event) }
  }

  func add(_ reader: EventReader) {
    readers.append(reader)
    isObserved = true
  }

  func remove(_ reader: EventReader) {
    readers.removeAll { $0 === reader }
    isObserved = !observers.isEmpty || !readers.isEmpty
  }

  /// Ends the sequences, because no event follows.
  func end() {
    readers = []
    isObserved = false
  }
}

/// The writing end of a sequence of events. The sequence ends when no engine holds this any more.
final class EventReader: Sendable {
  private let stream: AsyncStream<HTTPEvent>.Continuation
  private let includesBodies: Bool

  /// - Parameter includesBodies: Whether an event that waits for its reader keeps a body in memory.
  init(_ stream: AsyncStream<HTTPEvent>.Continuation, includesBodies: Bool) {
    self.stream = stream
    self.includesBodies = includesBodies
  }

  deinit { stream.finish() }

  func emit(_ event: HTTPEvent) { stream.yield(includesBodies ? event : event.withoutData) }
}
