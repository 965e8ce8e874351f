import NetwatchLibC
import Synchronization

/// A closure that is called once: with the first value that it gets, or with a default value if it is released without one,
/// such as by a loop or an executor that has ended.
public final class Promise<Value: Sendable>: Sendable {
  private let body: @Sendable (Value) -> Void
  private let otherwise: Value
  private let isDone = Atomic(false)

  /// Creates a one-shot call.
  ///
  /// - Parameters:
  ///   - otherwise: The value for the call if this object is released without a value.
  ///   - body: The closure to call, on the thread that gives the value or releases this object.
  package init(otherwise: Value, _ body: @escaping @Sendable (Value) -> Void) {
    self.otherwise = otherwise
    self.body = body
  }

  deinit { fulfill(otherwise) }

  /// Calls the closure on this thread, unless it has been called before.
  public func fulfill(_ value: Value) {
    if !isDone.exchange(true, ordering: .acquiringAndReleasing) { body(value) }
  }
}

extension Promise<Void> {
  /// Creates a one-shot call without a value.
  package convenience init(_ body: @escaping @Sendable () -> Void) { self.init(otherwise: ()) { _ in body() } }

  /// Calls the closure on this thread, unless it has been called before.
  public func fulfill() { fulfill(()) }
}

/// A result that one thread waits for and another one sets.
///
/// `@unchecked`: `result` is written before the post and read after the wait.
@safe final class BlockingResult<Value: Sendable>: @unchecked Sendable {
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
