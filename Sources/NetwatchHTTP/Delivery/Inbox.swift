import Netwatch
import NetwatchEventLoop

/// What an object on a loop is asked to do by other threads, in order. The loop is woken once for all that comes meanwhile.
final class Inbox<Command: Sendable>: Sendable {
  /// No tuple: in generic memory a tuple's closure is wrapped once more at each access.
  private struct State: Sendable {
    var commands: [Command] = []
    /// Nil before there is an object, and once it has ended: whoever keeps the inbox keeps neither the object nor its loop.
    var way: (handle: LoopHandle, wake: LoopHandle.Job)?
    var isClosed = false
  }

  private let state = InlineLock(State())

  /// There is an object. What has been asked for already wakes it.
  ///
  /// - Parameter wake: Takes the commands, on the loop.
  func open(_ handle: LoopHandle, wake: @escaping LoopHandle.Job) {
    let isWanted = state.withLock { state in
      guard !state.isClosed else { return false }
      state.way = (handle, wake)
      return !state.commands.isEmpty
    }
    if isWanted, !handle.submit(wake) { close() }
  }

  /// Keeps the command until there is an object. Drops it if the object has ended.
  ///
  /// - Parameter merge: Changes the command that waits last so that this one is not needed, or returns false.
  func send(_ command: Command, merge: (inout Command) -> Bool = { _ in false }) {
    let way = state.withLock { state -> (handle: LoopHandle, wake: LoopHandle.Job)? in
      guard !state.isClosed else { return nil }
      let count = state.commands.count
      if count > 0, merge(&state.commands[count - 1]) { return nil }
      state.commands.append(command)
      return count == 0 ? state.way : nil
    }
    if let way, !way.handle.submit(way.wake) { close() }
  }

  /// Puts what has been asked for in the place of `commands`, which has to be empty.
  func drain(into commands: inout [Command]) { state.withLock { swap(&$0.commands, &commands) } }

  /// From now on all commands are dropped.
  func close() {
    // Released outside the lock: what they own may send something in its deinit.
    let dropped = state.withLock { state in
      defer { state = State(isClosed: true) }
      return state
    }
    _ = dropped
  }
}
