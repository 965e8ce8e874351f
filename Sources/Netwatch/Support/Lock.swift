import NetwatchLibC

/// The lock of a value. Never held while a user's code runs.
///
/// It is a pthread mutex, and not the standard library's `Mutex`: that one names its owner by a thread's number, which is another
/// one's in a child that fork(2) has made, and the thread sanitizer does not see it.
///
/// Inlinable, because otherwise each use would look up at run time how to copy the value.
///
/// `@unchecked`: `value` is only accessed under `mutex`.
@safe package final class Lock<Value: Sendable>: @unchecked Sendable {
  @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  @usableFromInline var value: Value

  @inlinable package init(_ value: Value) {
    self.value = value
    unsafe pthread_mutex_init(mutex, nil)
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  @inlinable package func withLock<Result: Sendable, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}

/// A lock that the thread that has it may take again. It is for calls that call back: a receiver may end its own delivery, and
/// libcurl takes a lock that its caller has.
///
/// `@unchecked`: any thread may call a pthread mutex.
@safe package final class RecursiveLock: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

  package init() {
    var attributes = pthread_mutexattr_t()
    unsafe pthread_mutexattr_init(&attributes)
    unsafe pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_RECURSIVE))
    unsafe pthread_mutex_init(mutex, &attributes)
    unsafe pthread_mutexattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_mutex_destroy(mutex)
    unsafe mutex.deallocate()
  }

  package func lock() { unsafe pthread_mutex_lock(mutex) }

  package func unlock() { unsafe pthread_mutex_unlock(mutex) }
}
