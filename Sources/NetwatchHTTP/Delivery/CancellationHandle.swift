import Netwatch

/// Cancels an awaited operation, also if the cancellation comes before the operation begins.
final class CancellationHandle<Target: Sendable>: Sendable {
  private let state = Lock<(target: Target?, isCancelled: Bool)>((nil, false))
  private let end: @Sendable (Target) -> Void

  /// - Parameter end: Ends an operation that has begun.
  init(_ end: @escaping @Sendable (Target) -> Void) { self.end = end }

  /// Records that the operation has begun. Ends it at once if it is already cancelled.
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
