import Glibc
import Synchronization

/// The reply to a thread that waits in ``LoopHandle/call(_:)``.
///
/// One that is dropped without having been given is an error to the waiting thread, which so never waits for ever.
public final class LoopReply<Value: Sendable>: Sendable {
  private let promise: Promise<Value>
  private let isGiven = Atomic(false)

  init(_ promise: Promise<Value>) { self.promise = promise }

  deinit { give(.failure(SystemError(operation: "call", code: ECANCELED))) }

  /// The first one counts.
  public func give(_ result: Result<Value, any Error>) {
    if !isGiven.exchange(true, ordering: .acquiringAndReleasing) { promise.fulfill(result) }
  }
}
