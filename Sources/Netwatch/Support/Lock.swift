#if NETWATCH_PTHREAD_LOCKS
  import Glibc

  /// The project's one lock, as a pthread mutex: the thread sanitizer does not see the futex in `Mutex`.
  ///
  /// `@unchecked`: `value` is only accessed under `mutex`.
  @safe package final class Lock<Value>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private var value: Value

    package init(_ value: sending Value) {
      self.value = value
      unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
      unsafe pthread_mutex_destroy(mutex)
      unsafe mutex.deallocate()
    }

    package func withLock<Result, Failure: Error>(
      _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
      unsafe pthread_mutex_lock(mutex)
      defer { unsafe pthread_mutex_unlock(mutex) }
      return try body(&value)
    }
  }

  /// A lock stored inside its owner. With pthread mutexes it is the same as `Lock`.
  package typealias InlineLock<Value> = Lock<Value>
#else
  import Synchronization

  /// A lock stored inside its owner: no allocation, and no type has to be looked up when it is released.
  package typealias InlineLock<Value> = Mutex<Value>

  /// The project's one lock. Never held while a user's code runs.
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
