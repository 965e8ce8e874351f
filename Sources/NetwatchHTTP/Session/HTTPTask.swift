import Netwatch
import Synchronization

/// A request of a ``HTTPSessionManager``. From any thread; no call waits.
///
/// It does not keep its manager, and once that has ended, nothing of it. A task that is suspended, and that nobody holds any more, is cancelled.
public final class HTTPTask: Sendable {
  public enum State: Hashable, Sendable {
    case suspended
    /// For a path to the network.
    case waiting
    case running
    /// Its completion is on its way, or has run.
    case finished
  }

  /// As its `RequestObserver` knows it.
  public let id: RequestID
  private let status: TaskStatus
  private let port: EnginePort
  /// The caller's wish, which the task may not have followed yet.
  private let isSuspended: InlineLock<Bool>

  init(_ order: TransferOrder, _ port: EnginePort, isSuspended: Bool) {
    id = order.id
    status = order.status
    self.port = port
    self.isSuspended = InlineLock(isSuspended)
    port.submit(.start(order, isSuspended: isSuspended))
  }

  deinit {
    if isSuspended.withLock({ $0 }) { cancel() }
  }

  public var state: State { status.now.state }
  public var progress: HTTPProgress { status.now.progress }

  /// Begins, or goes on.
  public func resume() { change(to: false) }

  /// Holds still: nothing is sent or read, and the activity of the request ends. The connection stays.
  public func suspend() { change(to: true) }

  /// Ends it with `cancelled`, unless it is over.
  public func cancel() { port.submit(.cancel(id)) }

  private func change(to value: Bool) {
    // Under the lock, so that the loop hears of it in the same order.
    isSuspended.withLock { isSuspended in
      isSuspended = value
      port.submit(value ? .suspend(id) : .resume(id))
    }
  }
}
