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
  private let inbox: Inbox<EngineCommand>
  /// The caller's wish, which the task may not have followed yet.
  private let isSuspended: InlineLock<Bool>

  init(_ order: TransferOrder, _ status: TaskStatus, _ inbox: Inbox<EngineCommand>, isSuspended: Bool) {
    id = order.id
    self.status = status
    self.inbox = inbox
    self.isSuspended = InlineLock(isSuspended)
    inbox.send(.start(order, isSuspended: isSuspended))
  }

  deinit {
    if isSuspended.withLock({ $0 }) { cancel() }
  }

  public var state: State {
    switch status.now.phase {
    case .suspended: .suspended
    case .waiting: .waiting
    case .running(let attempt): attempt.isSuspended ? .suspended : .running
    case .over: .finished
    }
  }

  public var progress: HTTPProgress { status.now.progress }

  /// Begins, or goes on.
  public func resume() { change(to: false) }

  /// Holds still: nothing is sent or read, and the activity of the request ends. The connection stays.
  public func suspend() { change(to: true) }

  /// Ends it with `cancelled`, unless it is over.
  public func cancel() { inbox.send(.cancel(id)) }

  private func change(to value: Bool) {
    // Under the lock, so that the loop hears of it in the same order.
    isSuspended.withLock { isSuspended in
      isSuspended = value
      inbox.send(value ? .suspend(id) : .resume(id)) { last in
        // A task is made suspended, and begun in the same breath: that is one command.
        guard !value, case .start(let order, true) = last, order.id == id else { return false }
        last = .start(order, isSuspended: false)
        return true
      }
    }
  }
}
