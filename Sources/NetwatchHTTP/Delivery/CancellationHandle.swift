import Netwatch

/// Cancels what somebody awaits, also if that is wanted before it has begun.
final class CancellationHandle<Target: Sendable>: Sendable {
  private let state = InlineLock<(target: Target?, isCancelled: Bool)>((nil, false))
  private let end: @Sendable (Target) -> Void

  /// - Parameter end: Ends what has begun.
  init(_ end: @escaping @Sendable (Target) -> Void) { self.end = end }

  /// What is awaited has begun. It is ended at once if that is already wanted.
  func began(_ target: Target) {
    let isCancelled = state.withLock { state in
      state.target = target
      return state.isCancelled
    }
    if isCancelled { end(target) }
  }

  func cancel() {
    let target = state.withLock { state in
      state.isCancelled = true
      return state.target
    }
    if let target { end(target) }
  }
}
