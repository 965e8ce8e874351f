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

/// The ways in which a broadcast calls an observer.
extension Broadcast {
  /// Calls `body` on the caller's actor. The first value is delivered before this returns.
  ///
  /// The actor is held while a call waits for its turn there, but not between the values. When the actor is gone, nothing is
  /// delivered any more.
  package func call(
    of owner: any AnyObject & Sendable, initial: Bool, isolation: isolated any Actor, _ body: @escaping (Value) -> Void
  ) -> CallbackSubscription {
    let body = ActorBody(call: body)
    let delivery = QueuedDelivery<Value, Failure> { [weak isolation] job in
      if let isolation { Task { await isolation.run(job) } }
    }
    let subscriber = subscribe(initial: initial) { delivery.wake() }
    if case .value(let value) = subscriber.poll() { body.call(value) }
    delivery.start((subscriber, { body.call($0) }))
    return subscription(of: owner, to: delivery)
  }

  /// Calls `body` on an actor, from code that is not on it.
  package func call(
    of owner: any AnyObject & Sendable, initial: Bool, on actor: any Actor, _ body: @escaping @Sendable (Value) -> Void
  ) -> CallbackSubscription {
    call(
      of: owner, initial: initial,
      enqueue: { [weak actor] job in
        if let actor { Task { await actor.run(job) } }
      }, body)
  }

  /// Calls `body` in the context that `enqueue` chooses. `enqueue` gets the next delivery only when the one before has run.
  package func call(
    of owner: any AnyObject & Sendable, initial: Bool,
    enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    _ body: @escaping @Sendable (Value) -> Void
  ) -> CallbackSubscription {
    let delivery = QueuedDelivery<Value, Failure>(enqueue: enqueue)
    let subscriber = subscribe(initial: initial) { delivery.wake() }
    delivery.start((subscriber, body))
    return subscription(of: owner, to: delivery)
  }

  private func subscription(
    of owner: any AnyObject & Sendable, to delivery: QueuedDelivery<Value, Failure>
  ) -> CallbackSubscription {
    CallbackSubscription(of: owner) { [self] in
      if let subscriber = delivery.cancel() { unsubscribe(subscriber) }
    }
  }
}

/// A callback of an actor, on its way back there.
///
/// `@unchecked`: code of the actor has created it, and it is only called on that actor.
private struct ActorBody<Value>: @unchecked Sendable {
  let call: (Value) -> Void
}

extension Actor {
  fileprivate func run(_ job: @Sendable () -> Void) { job() }
}

/// Delivers values through the user's queue. At most one delivery waits there, and takes the newest value when it runs.
private final class QueuedDelivery<Value: Sendable & Equatable, Failure: Error>: Sendable {
  typealias Receiver = (subscriber: Broadcast<Value, Failure>.Subscriber, body: @Sendable (Value) -> Void)

  private struct State: Sendable {
    /// Nil before the start and after the end: the body may hold an object that holds the subscription.
    var receiver: Receiver?
    var isQueued = false
    var isWanted = false
  }

  private let state = Lock(State())
  private let enqueue: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let gate = DeliveryGate()

  init(enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) { self.enqueue = enqueue }

  func start(_ receiver: Receiver) {
    state.withLock { $0.receiver = receiver }
    wake()
  }

  /// Ends the delivery. When this has returned, nothing is delivered any more.
  ///
  /// - Returns: The subscriber that was read until now.
  func cancel() -> Broadcast<Value, Failure>.Subscriber? {
    gate.close()
    // The body is released outside the lock: what it owns may cancel in its deinit.
    let receiver = state.withLock { state -> Receiver? in
      defer { state.receiver = nil }
      return state.receiver
    }
    return receiver?.subscriber
  }

  func wake() {
    let isFirst = state.withLock { state -> Bool in
      state.isWanted = true
      guard !state.isQueued, state.receiver != nil else { return false }
      state.isQueued = true
      return true
    }
    if isFirst { enqueue { self.deliver() } }
  }

  private func deliver() {
    let receiver = state.withLock { state -> Receiver? in
      state.isWanted = false
      return state.receiver
    }
    if let receiver, case .value(let value) = receiver.subscriber.poll() {
      gate.pass { receiver.body(value) }
    }
    let isWantedAgain = state.withLock { state -> Bool in
      state.isQueued = state.isWanted && state.receiver != nil
      return state.isQueued
    }
    if isWantedAgain { enqueue { self.deliver() } }
  }
}

/// A gate that lets calls through until it is closed. Closing waits for the call that is under way, unless that call closes it.
///
/// `@unchecked`: `isClosed` is only accessed under `lock`.
package final class DeliveryGate: @unchecked Sendable {
  private let lock = RecursiveLock()
  private var isClosed = false

  package init() {}

  /// Runs `body` unless the gate is closed. Only one call runs at a time.
  package func pass(_ body: () -> Void) {
    lock.lock()
    defer { lock.unlock() }
    if !isClosed { body() }
  }

  /// Closes the gate and waits for a call that runs on another thread. After that nothing passes.
  package func close() {
    lock.lock()
    isClosed = true
    lock.unlock()
  }
}

/// A subscription to a callback. The callback is called until ``cancel()``, or until the last reference to the subscription
/// is released.
///
/// A subscription keeps the monitor or indicator alive that created it.
public final class CallbackSubscription: Sendable {
  private let owner: any AnyObject & Sendable
  private let onCancel: @Sendable () -> Void

  package init(of owner: any AnyObject & Sendable, onCancel: @escaping @Sendable () -> Void) {
    self.owner = owner
    self.onCancel = onCancel
  }

  deinit { onCancel() }

  /// Ends the subscription. When this has returned, the callback does not run and is not called any more.
  ///
  /// Can be called from any thread, any number of times, and also from within the callback. The call waits if the callback is
  /// running on another thread, so do not hold a lock that the callback takes.
  public func cancel() { onCancel() }
}
