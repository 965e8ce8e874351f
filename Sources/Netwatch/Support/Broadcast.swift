/// Publishes the newest value to any number of subscribers.
///
/// Each subscriber has one slot, in which a newer value replaces an unread one. A slow reader therefore loses old values,
/// never the newest, and delays nobody. A reader never gets the same value twice in a row. Subscribers are woken after the
/// lock is released.
package final class Broadcast<Value: Sendable & Equatable, Failure: Error>: Sendable {
  /// The slot of one reader.
  package final class Subscriber: Sendable {
    private struct Slot: Sendable {
      var unread: Value?
      /// The value that the reader has got, or does not need: a value may change and change back before it reads.
      var known: Value?
      /// The number of the last offer. Publishers on several threads can arrive out of order; the newest wins.
      var sequence: UInt64
      var end: Result<Void, Failure>?
    }
    private let slot: Lock<Slot>
    private let wake: @Sendable () -> Void

    fileprivate init(_ state: State, initial: Bool, wake: @escaping @Sendable () -> Void) {
      slot = Lock(
        Slot(
          unread: initial ? state.latest : nil, known: initial ? nil : state.latest, sequence: state.sequence,
          end: state.end))
      self.wake = wake
    }

    /// The result of ``poll()``: a value, the end, or nothing yet.
    package enum Turn: Sendable {
      case value(Value)
      case ended(Result<Void, Failure>)
      case empty
    }

    /// Returns the unread value, else the end, else nothing. The last value comes before the end.
    package func poll() -> Turn {
      slot.withLock { slot in
        if let value = slot.unread {
          slot.unread = nil
          if value != slot.known {
            slot.known = value
            return .value(value)
          }
        }
        return slot.end.map(Turn.ended) ?? .empty
      }
    }

    fileprivate func offer(_ value: Value, _ sequence: UInt64) {
      slot.withLock { slot in
        guard sequence > slot.sequence else { return }
        slot.sequence = sequence
        slot.unread = value
      }
      wake()
    }

    fileprivate func end(_ result: Result<Void, Failure>) {
      slot.withLock { if $0.end == nil { $0.end = result } }
      wake()
    }
  }

  fileprivate struct State: Sendable {
    var latest: Value
    var sequence: UInt64 = 0
    var end: Result<Void, Failure>?
    var subscribers: [ObjectIdentifier: Subscriber] = [:]
  }

  private let state: Lock<State>

  package init(_ value: Value) {
    state = Lock(State(latest: value))
  }

  /// The newest value, published or only remembered.
  package var latest: Value { state.withLock { $0.latest } }

  package var failure: Failure? {
    state.withLock { state in
      if case .failure(let failure) = state.end { failure } else { nil }
    }
  }

  /// Adds a reader. `wake` is called on the publishing thread after each offer, but not for a value that is in the slot from
  /// the beginning.
  ///
  /// - Parameter initial: Whether the newest value is in the slot from the beginning.
  package func subscribe(initial: Bool, wake: @escaping @Sendable () -> Void) -> Subscriber {
    state.withLock { state in
      let subscriber = Subscriber(state, initial: initial, wake: wake)
      if state.end == nil { state.subscribers[ObjectIdentifier(subscriber)] = subscriber }
      return subscriber
    }
  }

  package func unsubscribe(_ subscriber: Subscriber) {
    state.withLock { $0.subscribers[ObjectIdentifier(subscriber)] = nil }
  }

  /// Changes ``latest`` without notifying anybody.
  package func remember(_ value: Value) {
    state.withLock { if $0.end == nil { $0.latest = value } }
  }

  package func publish(_ value: Value) { stage(value).deliver() }

  /// A value that has its place in the order but has not been delivered yet.
  package struct Offer: Sendable {
    fileprivate let value: Value
    fileprivate let sequence: UInt64
    fileprivate let subscribers: [Subscriber]

    package func deliver() {
      for subscriber in subscribers { subscriber.offer(value, sequence) }
    }
  }

  /// The first half of ``publish(_:)``, for callers whose own lock decides the order. They deliver the offer after releasing
  /// it.
  package func stage(_ value: Value) -> Offer {
    state.withLock { state in
      guard state.end == nil else { return Offer(value: value, sequence: 0, subscribers: []) }
      state.latest = value
      state.sequence += 1
      return Offer(value: value, sequence: state.sequence, subscribers: Array(state.subscribers.values))
    }
  }

  /// Ends all current and future subscriptions. Only the first end counts.
  package func end(_ result: Result<Void, Failure>) {
    let subscribers = state.withLock { state -> [Subscriber] in
      guard state.end == nil else { return [] }
      state.end = result
      defer { state.subscribers = [:] }
      return Array(state.subscribers.values)
    }
    for subscriber in subscribers { subscriber.end(result) }
  }
}
