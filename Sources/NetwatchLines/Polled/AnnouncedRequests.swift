import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// The requests that a program has announced to a monitor that it polls. All methods can be called from any thread.
package final class AnnouncedRequests: Sendable {
  private struct State {
    var running: [UInt64: String?] = [:]
    /// The number of the newest request.
    var newest: UInt64 = 0
    /// The time of the last begin or end on the monotonic clock; nil if it has been taken already.
    var changed: Duration?
  }

  private let state = Lock(State())
  private let handle: LoopHandle

  /// - Parameter handle: The handle that wakes the loop, which then calls ``takeNews()``.
  init(waking handle: LoopHandle) { self.handle = handle }

  /// Begins a request.
  ///
  /// - Parameter label: A text that describes the request to people who look at the service; nil for none.
  /// - Returns: The number of the request, from 1.
  package func begin(_ label: String?) -> UInt64 {
    let (number, isFirst) = state.withLock { state in
      state.newest += 1
      state.running[state.newest] = .some(label)
      defer { state.changed = KernelClock.monotonic.now }
      return (state.newest, state.changed == nil)
    }
    if isFirst { handle.wake() }
    return number
  }

  /// Ends a request. If it has ended or never begun, nothing happens.
  package func end(_ number: UInt64) {
    let isFirst = state.withLock { state in
      guard state.running.removeValue(forKey: number) != nil else { return false }
      defer { state.changed = KernelClock.monotonic.now }
      return state.changed == nil
    }
    if isFirst { handle.wake() }
  }

  /// Returns the requests that run and the time of the last change. Nil if there was no change since the last call.
  func takeNews() -> (running: RunningRequests, date: Duration)? {
    state.withLock { state in
      guard let date = state.changed else { return nil }
      state.changed = nil
      return (RunningRequests(state.running.values), date)
    }
  }
}
