import Synchronization

/// What somebody waits for. Where it is dropped without having been given, because the session has ended, they get another one.
final class SureAnswer<Value: Sendable>: Sendable {
  private let continuation: CheckedContinuation<Value, Never>
  private let otherwise: Value
  private let isGiven = Atomic(false)

  init(_ continuation: CheckedContinuation<Value, Never>, otherwise: Value) {
    self.continuation = continuation
    self.otherwise = otherwise
  }

  deinit { give(otherwise) }

  /// The first one counts.
  func give(_ value: Value) {
    if !isGiven.exchange(true, ordering: .acquiringAndReleasing) { continuation.resume(returning: value) }
  }
}
