import Netwatch
import NetwatchEventLoop

/// A clock that stands still until a test moves it. Tasks can sleep by it, and event loops can use it for their timers.
package final class ManualClock: Clock, LoopClock, Sendable {
  package struct Instant: InstantProtocol {
    package var offset: Duration
    package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    package func duration(to other: Instant) -> Duration { other.offset - offset }
    package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct Sleeper: Sendable {
    let deadline: Instant
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State: Sendable {
    var now = Instant(offset: .zero)
    var sleepers: [Sleeper] = []
    /// The closures that make the loops of this clock fire the timers that are due. A closure returns false if its loop
    /// has ended.
    var loops: [Int: @Sendable () -> Bool] = [:]
    var lastLoop = 0
  }

  private let state = Lock(State())

  package init() {}

  package var now: Instant { state.withLock { $0.now } }
  package var minimumResolution: Duration { .nanoseconds(1) }
  /// The number of tasks that sleep.
  package var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if deadline <= state.now { return true }
        state.sleepers.append(Sleeper(deadline: deadline, continuation: continuation))
        return false
      }
      if isOver { continuation.resume() }
    }
  }

  /// The time since the clock was created.
  package var time: Duration { now.offset }

  package func drive(_ clockHasMoved: @escaping @Sendable () -> Bool) {
    state.withLock { state in
      state.lastLoop += 1
      state.loops[state.lastLoop] = clockHasMoved
    }
  }

  /// Moves the clock, and wakes the tasks and loops whose deadlines have passed.
  ///
  /// Tasks and loops run on their own threads, perhaps only after this method has returned. A loop of the calling
  /// thread fires its timers in its next turn.
  package func advance(by duration: Duration) {
    let (woken, loops) = state.withLock { state in
      state.now = state.now.advanced(by: duration)
      let now = state.now
      let woken = state.sleepers.filter { $0.deadline <= now }
      state.sleepers.removeAll { $0.deadline <= now }
      return (woken, state.loops)
    }
    for sleeper in woken { sleeper.continuation.resume() }
    for (number, clockHasMoved) in loops where !clockHasMoved() { state.withLock { $0.loops[number] = nil } }
  }
}
