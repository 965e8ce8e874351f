import Netwatch
import Synchronization

/// A completion that is on its way to its caller. When it has run, or has been dropped, the request's activity ends.
final class DeliveryTicket: Sendable {
  private let id: RequestID
  private let observer: (any RequestObserver)?
  private let ledger: DeliveryLedger
  private let isSettled = Atomic(false)

  /// - Parameter observer: nil where the activity has ended before.
  init(_ id: RequestID, _ observer: (any RequestObserver)?, _ ledger: DeliveryLedger) {
    self.id = id
    self.observer = observer
    self.ledger = ledger
  }

  deinit { settle() }

  /// The completion has run. Whoever has the ticket may hold it for a moment longer, and nobody should notice.
  func settle() {
    guard !isSettled.exchange(true, ordering: .acquiringAndReleasing) else { return }
    observer?.ended(id)
    ledger.remove()
  }
}

/// Counts the tasks of a session whose completion has not run yet.
final class DeliveryLedger: Sendable {
  private struct State: Sendable {
    var count = 0
    var isClosed = false
    var waiters: [@Sendable () -> Void] = []
  }

  private let state = InlineLock(State())

  func add() { state.withLock { $0.count += 1 } }

  func remove() {
    let waiters = state.withLock { state -> [@Sendable () -> Void] in
      state.count -= 1
      return Self.takeWaiters(&state)
    }
    for waiter in waiters { waiter() }
  }

  /// No task will come any more.
  func close() {
    let waiters = state.withLock { state -> [@Sendable () -> Void] in
      state.isClosed = true
      return Self.takeWaiters(&state)
    }
    for waiter in waiters { waiter() }
  }

  /// Calls `body` when it is closed and empty.
  func whenEmpty(_ body: @escaping @Sendable () -> Void) {
    let isEmpty = state.withLock { state -> Bool in
      if state.isClosed, state.count == 0 { return true }
      state.waiters.append(body)
      return false
    }
    if isEmpty { body() }
  }

  private static func takeWaiters(_ state: inout State) -> [@Sendable () -> Void] {
    guard state.isClosed, state.count == 0 else { return [] }
    defer { state.waiters = [] }
    return state.waiters
  }
}
