import Netwatch
import NetwatchEventLoop

/// Counts the tasks of a session whose completion has not run yet.
final class PendingCompletions: Sendable {
  private typealias State = (count: Int, isClosed: Bool, waiters: [@Sendable () -> Void])

  private let state = InlineLock<State>((0, false, []))

  func add() { state.withLock { $0.count += 1 } }

  func remove() { finish { $0.count -= 1 } }

  /// One more, until it is fulfilled or dropped: for completions that come from more than one task.
  func hold() -> OneShot<Void> {
    add()
    return OneShot { [self] in remove() }
  }

  /// No task will come any more.
  func close() { finish { $0.isClosed = true } }

  /// Calls `body` when it is closed and empty.
  func whenEmpty(_ body: @escaping @Sendable () -> Void) { finish { $0.waiters.append(body) } }

  private func finish(_ change: (inout State) -> Void) {
    let waiters = state.withLock { state -> [@Sendable () -> Void] in
      change(&state)
      guard state.isClosed, state.count == 0 else { return [] }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter() }
  }
}
