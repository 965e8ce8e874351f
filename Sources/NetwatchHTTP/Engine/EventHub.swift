import Netwatch

/// Tells observers and readers of sequences what happens to the tasks of an engine. On its thread.
final class EventHub {
  private let observers: [any HTTPEventObserver]
  private var readers: [EventReader] = []
  /// Whether anybody wants to hear of anything: otherwise no event is made.
  private(set) var isObserved: Bool

  init(_ observers: [any HTTPEventObserver]) {
    self.observers = observers
    isObserved = !observers.isEmpty
  }

  func tell(_ event: HTTPEvent) {
    for observer in observers { observer.handle(event) }
    for reader in readers { reader.tell(event) }
  }

  func add(_ reader: EventReader) {
    readers.append(reader)
    isObserved = true
  }

  func remove(_ reader: EventReader) {
    readers.removeAll { $0 === reader }
    isObserved = !observers.isEmpty || !readers.isEmpty
  }

  /// Nothing happens any more.
  func end() {
    readers = []
    isObserved = false
  }
}
