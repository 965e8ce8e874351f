import Glibc

#if NETWATCH_PTHREAD_LOCKS
  /// The lock of a value, as a pthread mutex: the thread sanitizer does not see the futex in `Mutex`.
  ///
  /// `@unchecked`: `value` is only accessed under `mutex`.
  @safe package final class Lock<Value: Sendable>: @unchecked Sendable {
    private let mutex = RecursiveLock()
    private var value: Value

    package init(_ value: Value) { self.value = value }

    package func withLock<Result: Sendable, Failure: Error>(
      _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
      mutex.lock()
      defer { mutex.unlock() }
      return try body(&value)
    }
  }
#else
  import Synchronization

  /// The lock of a value. Never held while a user's code runs.
  ///
  /// Inlinable, because otherwise each use would look up at run time how to copy the value.
  package final class Lock<Value: Sendable>: Sendable {
    @usableFromInline let mutex: Mutex<Value>

    @inlinable package init(_ value: Value) { mutex = Mutex(value) }

    @inlinable package func withLock<Result: Sendable, Failure: Error>(
      _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
      try mutex.withLock { value throws(Failure) in try body(&value) }
    }
  }
#endif

/// A lock that the thread that has it may take again, for calls that call back: a receiver may end its own delivery, and libcurl
/// takes a lock that its caller has.
///
/// `@unchecked`: a pthread mutex belongs to no thread.
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
