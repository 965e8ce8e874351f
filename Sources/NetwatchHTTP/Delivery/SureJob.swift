import Synchronization

/// Runs once: when its executor runs it, or when that drops it.
final class SureJob: Sendable {
  private let body: @Sendable () -> Void
  private let isDone = Atomic(false)

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  deinit { run() }

  func run() {
    if !isDone.exchange(true, ordering: .acquiringAndReleasing) { body() }
  }
}
