import Dispatch

/// Holds threads, such as those of a server, until the test lets all of them go on.
final class Gate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)

  /// Waits until the gate is open. It stays open.
  func pass() {
    semaphore.wait()
    semaphore.signal()
  }

  func open() { semaphore.signal() }
}
