import Netwatch
import NetwatchEventLoop

/// Counts the tasks of a session whose completion has not run yet.
final class PendingCompletions: Sendable {
  private typealias State = (count: Int, engines: Int, waiters: [@Sendable () -> Void])

  private let state: InlineLock<State>

  /// - Parameter engines: How many engines take tasks.
  init(engines: Int) { state = InlineLock((0, engines, [])) }

  func add() { state.withLock { $0.count += 1 } }

  func remove() { finish { $0.count -= 1 } }

  /// One more, until it is fulfilled or dropped: for completions that come from more than one task.
  func hold() -> OneShot<Void> {
    add()
    return OneShot { [self] in remove() }
  }

  /// No engine takes tasks any more.
  var isClosed: Bool { state.withLock { $0.engines == 0 } }

  /// One of the engines takes no task any more.
  func close() { finish { $0.engines -= 1 } }

  /// Calls `body` when no task is left and none will come.
  func whenEmpty(_ body: @escaping @Sendable () -> Void) { finish { $0.waiters.append(body) } }

  private func finish(_ change: (inout State) -> Void) {
    let waiters = state.withLock { state -> [@Sendable () -> Void] in
      change(&state)
      guard state.engines == 0, state.count == 0 else { return [] }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter() }
  }
}
