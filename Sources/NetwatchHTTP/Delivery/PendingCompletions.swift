import Netwatch
import NetwatchEventLoop

/// Counts the tasks of a session whose completion has not run yet.
final class PendingCompletions: Sendable {
  private typealias State = (count: Int, engines: Int, waiters: [@Sendable () -> Void])

  private let state: Lock<State>

  /// - Parameter engines: The number of engines that take tasks.
  init(engines: Int) { state = Lock((0, engines, [])) }

  func add() { state.withLock { $0.count += 1 } }

  func remove() { finish { $0.count -= 1 } }

  /// Adds one until the result is fulfilled or released: for completions that several tasks lead to.
  func hold() -> OneShot<Void> {
    add()
    return OneShot { [self] in remove() }
  }

  /// Whether no engine takes tasks any more.
  var isClosed: Bool { state.withLock { $0.engines == 0 } }

  /// Records that one of the engines no longer takes tasks.
  func close() { finish { $0.engines -= 1 } }

  /// Calls `body` when no task is left and none can follow.
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
