/// The ways in which a broadcast calls an observer.
extension Broadcast {
  /// Calls `body` on the caller's actor. The first value is delivered before this returns.
  ///
  /// The actor is held while a call waits for its turn there, but not between the values. When the actor is gone, nothing is
  /// delivered any more.
  package func call(
    of owner: any AnyObject & Sendable, initial: Bool, isolation: isolated any Actor, _ body: @escaping (Value) -> Void
  ) -> Subscription {
    let body = ActorBody(call: body)
    let delivery = QueuedDelivery<Value, Failure> { [weak isolation] job in
      if let isolation { Task { await isolation.run(job) } }
    }
    let subscriber = subscribe(initial: initial) { delivery.wake() }
    if case .value(let value) = subscriber.poll() { body.call(value) }
    delivery.start((subscriber, { body.call($0) }))
    return subscription(of: owner, to: delivery)
  }

  /// Calls `body` in the context that `enqueue` chooses. `enqueue` gets the next delivery only when the one before has run.
  package func call(
    of owner: any AnyObject & Sendable, initial: Bool,
    enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    _ body: @escaping @Sendable (Value) -> Void
  ) -> Subscription {
    let delivery = QueuedDelivery<Value, Failure>(enqueue: enqueue)
    let subscriber = subscribe(initial: initial) { delivery.wake() }
    delivery.start((subscriber, body))
    return subscription(of: owner, to: delivery)
  }

  private func subscription(
    of owner: any AnyObject & Sendable, to delivery: QueuedDelivery<Value, Failure>
  ) -> Subscription {
    Subscription(of: owner) { [self] in
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
