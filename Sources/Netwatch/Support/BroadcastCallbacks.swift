/// How an observer is called, given a broadcast.
extension Broadcast {
  /// On the caller's actor, the first value before this returns.
  package func call(
    of owner: any AnyObject & Sendable, initial: Bool, isolation: isolated any Actor, _ body: @escaping (Value) -> Void
  ) -> Subscription {
    let gate = DeliveryGate()
    let reader = BroadcastReader(self, initial: initial)
    let task = Task.immediate {
      // Without this the closure would be nonisolated, and run elsewhere.
      _ = isolation
      while let value = try? await reader.next(isolation: isolation) {
        gate.pass { body(value) }
      }
    }
    return Subscription(of: owner) {
      gate.close()
      task.cancel()
    }
  }

  /// Wherever `enqueue` runs what it is given. It is given the next delivery when the one before has run.
  package func call(
    of owner: any AnyObject & Sendable, initial: Bool,
    enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    _ body: @escaping @Sendable (Value) -> Void
  ) -> Subscription {
    let gate = DeliveryGate()
    let delivery = QueuedDelivery<Value, Failure>(enqueue: enqueue, gate: gate, body: body)
    let subscriber = subscribe(initial: initial) { delivery.wake() }
    delivery.attach(subscriber)
    return Subscription(of: owner) { [self] in
      gate.close()
      unsubscribe(subscriber)
      delivery.detach()
    }
  }
}

/// At most one delivery at a time waits in the user's queue, and takes the newest value when it runs.
private final class QueuedDelivery<Value: Sendable & Equatable, Failure: Error>: Sendable {
  private struct State: Sendable {
    var subscriber: Broadcast<Value, Failure>.Subscriber?
    var isQueued = false
    var isWanted = false
  }

  private let state = Lock(State())
  private let enqueue: @Sendable (@escaping @Sendable () -> Void) -> Void
  private let gate: DeliveryGate
  private let body: @Sendable (Value) -> Void

  init(
    enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void, gate: DeliveryGate,
    body: @escaping @Sendable (Value) -> Void
  ) {
    self.enqueue = enqueue
    self.gate = gate
    self.body = body
  }

  func attach(_ subscriber: Broadcast<Value, Failure>.Subscriber) {
    state.withLock { $0.subscriber = subscriber }
    wake()
  }

  func detach() { state.withLock { $0.subscriber = nil } }

  func wake() {
    let isFirst = state.withLock { state -> Bool in
      state.isWanted = true
      guard !state.isQueued, state.subscriber != nil else { return false }
      state.isQueued = true
      return true
    }
    if isFirst { enqueue { self.deliver() } }
  }

  private func deliver() {
    let subscriber = state.withLock { state -> Broadcast<Value, Failure>.Subscriber? in
      state.isWanted = false
      return state.subscriber
    }
    if case .value(let value) = subscriber?.take() {
      gate.pass { body(value) }
    }
    let isWantedAgain = state.withLock { state -> Bool in
      state.isQueued = state.isWanted && state.subscriber != nil
      return state.isQueued
    }
    if isWantedAgain { enqueue { self.deliver() } }
  }
}
