import Netwatch
import NetwatchEventLoop

/// Commands from other threads to an object on a loop, in order. The loop is woken once for all commands that arrive in the
/// meantime.
final class Inbox<Command: Sendable>: Sendable {
  /// A struct, not a tuple: in generic memory, each access wraps a closure of a tuple once more.
  private struct State: Sendable {
    var commands: [Command] = []
    /// The way to wake the object. Nil before the object exists and after it has ended, so that an owner of the inbox keeps
    /// neither the object nor its loop alive.
    var way: (handle: LoopHandle, wake: LoopHandle.Job)?
    var isClosed = false
  }

  private let state = Lock(State())

  /// Connects the object. Commands that are already waiting wake it.
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

  /// Sends a command, or keeps it until there is an object. Drops it if the object has ended.
  ///
  /// - Parameter merge: Changes the last waiting command so that this one is not needed, or returns false.
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

  /// Moves the waiting commands into `commands`, which must be empty.
  func drain(into commands: inout [Command]) { state.withLock { swap(&$0.commands, &commands) } }

  /// Drops all commands, now and later.
  func close() {
    // Released outside the lock, because a deinit of what they own may send a command.
    let dropped = state.withLock { state in
      defer { state = State(isClosed: true) }
      return state
    }
    _ = dropped
  }
}
