import Glibc

/// A result that one thread waits for and another one sets.
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

  /// Sets the result. Call this once.
  func fulfill(_ result: Result<Value, any Error>) {
    self.result = result
    unsafe sem_post(semaphore)
  }

  func wait() throws -> Value {
    while unsafe sem_wait(semaphore) != 0 {}  // EINTR alone
    guard let result else { throw SystemError(operation: "sem_wait", code: EINVAL) }
    return try result.get()
  }
}
