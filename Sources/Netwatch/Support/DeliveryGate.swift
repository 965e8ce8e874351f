import Glibc

/// A gate that lets calls through until it is closed. Closing waits for the call that is under way.
///
/// The mutex is recursive, so that a callback can close its own gate.
///
/// `@unchecked`: `isClosed` is only accessed under `mutex`.
@safe package final class DeliveryGate: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var isClosed = false

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

  /// Runs `body` unless the gate is closed. Only one call runs at a time.
  package func pass(_ body: () -> Void) {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    if !isClosed { body() }
  }

  /// Closes the gate and waits for a call that runs on another thread. After that nothing passes.
  package func close() {
    unsafe pthread_mutex_lock(mutex)
    isClosed = true
    unsafe pthread_mutex_unlock(mutex)
  }
}
