import Glibc
import Synchronization

/// A result that one thread waits for and another one keeps.
///
/// `@unchecked`: `result` is written before the post and read after the wait.
@safe final class Promise<Value: Sendable>: @unchecked Sendable {
  private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
  private var result: Result<Value, any Error>?

  init() { unsafe sem_init(semaphore, 0, 0) }

  deinit {
    unsafe sem_destroy(semaphore)
    unsafe semaphore.deallocate()
  }

  /// Once, by the one thread that has it.
  func keep(_ result: Result<Value, any Error>) {
    self.result = result
    unsafe sem_post(semaphore)
  }

  func wait() throws -> Value {
    while unsafe sem_wait(semaphore) != 0 {}  // EINTR alone
    guard let result else { throw SystemError(operation: "sem_wait", code: EINVAL) }
    return try result.get()
  }
}

/// The answer to a thread that waits in ``LoopHandle/call(_:)``.
///
/// One that is dropped without having been given is an error to the waiting thread, which so never waits for ever.
public final class LoopAnswer<Value: Sendable>: Sendable {
  private let promise: Promise<Value>
  private let isGiven = Atomic(false)

  init(_ promise: Promise<Value>) { self.promise = promise }

  deinit { give(.failure(SystemError(operation: "call", code: ECANCELED))) }

  /// The first one counts.
  public func give(_ result: Result<Value, any Error>) {
    if !isGiven.exchange(true, ordering: .acquiringAndReleasing) { promise.keep(result) }
  }
}
