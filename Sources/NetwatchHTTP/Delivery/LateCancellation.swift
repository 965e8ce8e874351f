import Netwatch

/// For what somebody awaits, and may want to cancel before it has begun.
final class LateCancellation: Sendable {
  private struct State: Sendable {
    var cancel: (@Sendable () -> Void)?
    var isCancelled = false
  }

  private let state = InlineLock(State())

  /// What is awaited has begun; `cancel` ends it. Called at once where that is already wanted.
  func began(_ cancel: @escaping @Sendable () -> Void) {
    let isCancelled = state.withLock { state in
      state.cancel = cancel
      return state.isCancelled
    }
    if isCancelled { cancel() }
  }

  func cancel() {
    let cancel = state.withLock { state in
      state.isCancelled = true
      return state.cancel
    }
    cancel?()
  }
}
