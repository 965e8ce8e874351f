import HTTPTypes
import Netwatch
import Synchronization

/// A request of a ``HTTPSessionManager``. All members can be used from any thread, and no call waits.
///
/// A task does not retain its manager, and retains nothing of it after the manager has ended. A suspended task is cancelled
/// when it is released. Two objects that stand for the same task are equal.
public final class HTTPTask: Sendable {
  /// The state of a task.
  public enum State: Hashable, Sendable {
    /// The task has not begun, or was suspended.
    case suspended
    /// The task waits for a path to the network, or for the delay before another attempt.
    case waiting
    /// The task is running.
    case running
    /// The task is over. Its completion has run, or is about to run.
    case finished
  }

  /// The id, the kind and the label of the task.
  public let info: HTTPTaskInfo
  /// The request that the task was made from, before redirects and interceptors.
  public var request: HTTPRequest { shared.value }
  private let shared: Shared<HTTPRequest>
  private let status: TaskStatus
  private let inbox: Inbox<EngineCommand>

  /// Creates another object for a task that the session already has.
  init(_ order: TransferOrder, _ status: TaskStatus, _ inbox: Inbox<EngineCommand>) {
    info = order.info
    shared = order.call.sharedRequest
    self.status = status
    self.inbox = inbox
    status.retain()
  }

  /// Creates a task, and gives it to its session.
  convenience init(
    _ order: TransferOrder, _ status: TaskStatus, _ inbox: Inbox<EngineCommand>, isSuspended: Bool
  ) {
    self.init(order, status, inbox)
    status.wish(isSuspended: isSuspended) { inbox.send(.start(order, isSuspended: isSuspended)) }
  }

  deinit {
    if status.release() { cancel() }
  }

  /// The id by which a `RequestObserver` knows the task.
  public var id: RequestID { info.id }

  /// The current state of the task.
  public var state: State {
    switch status.phase {
    case .suspended: .suspended
    case .waiting, .delayed: .waiting
    case .running(let attempt): attempt.isSuspended ? .suspended : .running
    case .over: .finished
    }
  }

  /// The bytes that were sent and received so far, with the totals if they are known.
  public var progress: HTTPProgress { status.progress }

  /// Returns the current progress, and then each change. A slow reader gets the newest figures, and misses those in between.
  /// The sequence ends with the task. Each call returns a new sequence.
  public func progressUpdates() -> AsyncStream<HTTPProgress> { status.progressUpdates() }

  /// Begins the task, or continues it after a suspension.
  public func resume() { change(to: false) }

  /// Suspends the task: nothing is sent or read, and the activity of the request ends. The connection stays open.
  public func suspend() { change(to: true) }

  /// Cancels the task, which ends with `cancelled`, unless it is already over.
  public func cancel() { inbox.send(.cancel(id)) }

  private func change(to value: Bool) {
    status.wish(isSuspended: value) {
      inbox.send(value ? .suspend(id) : .resume(id)) { last in
        // A task that is created suspended and resumed at once needs only one command.
        guard !value, case .start(let order, true) = last, order.id == id else { return false }
        last = .start(order, isSuspended: false)
        return true
      }
    }
  }
}

extension HTTPTask: CustomStringConvertible {
  /// The task in one line: the request without its query, the label and the state: `GET https://example.org/users (running)`.
  public var description: String {
    "\(request.title)\(info.label.map { " '\($0)'" } ?? "") (\(state))"
  }
}

extension HTTPTask: Hashable {
  /// Returns whether two objects stand for the same task.
  public static func == (left: HTTPTask, right: HTTPTask) -> Bool { left.id == right.id }
  /// Hashes the id of the task.
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
