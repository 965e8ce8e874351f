/// A gate that lets calls through until it is closed. Closing waits for the call that is under way, unless that call closes it.
///
/// `@unchecked`: `isClosed` is only accessed under `lock`.
package final class DeliveryGate: @unchecked Sendable {
  private let lock = RecursiveLock()
  private var isClosed = false

  package init() {}

  /// Runs `body` unless the gate is closed. Only one call runs at a time.
  package func pass(_ body: () -> Void) {
    lock.lock()
    defer { lock.unlock() }
    if !isClosed { body() }
  }

  /// Closes the gate and waits for a call that runs on another thread. After that nothing passes.
  package func close() {
    lock.lock()
    isClosed = true
    lock.unlock()
  }
}
