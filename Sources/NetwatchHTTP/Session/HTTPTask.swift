import HTTPTypes
import Netwatch
import Synchronization

/// A request of a ``HTTPSessionManager``. All members may be used from any thread, and no call waits.
///
/// A task does not keep its manager, and once that has ended, nothing of it. A task that is suspended, and that nobody holds any
/// more, is cancelled. Two objects for the same request are equal.
public final class HTTPTask: Sendable {
  public enum State: Hashable, Sendable {
    case suspended
    /// For a path to the network, or for the time before another attempt.
    case waiting
    case running
    /// Its completion is on its way, or has run.
    case finished
  }

  /// The task's id, its kind, and what its owner calls it.
  public let info: HTTPTaskInfo
  /// The request that the task was made of, before redirects and interceptors.
  public var request: HTTPRequest { shared.value }
  private let shared: SharedRequest
  private let status: TaskStatus
  private let inbox: Inbox<EngineCommand>

  /// A task that its session has.
  init(_ order: TransferOrder, _ status: TaskStatus, _ inbox: Inbox<EngineCommand>) {
    info = order.info
    shared = order.shared
    self.status = status
    self.inbox = inbox
    status.retain()
  }

  /// Gives a task to its session.
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

  public var state: State {
    switch status.phase {
    case .suspended: .suspended
    case .waiting, .delayed: .waiting
    case .running(let attempt): attempt.isSuspended ? .suspended : .running
    case .over: .finished
    }
  }

  public var progress: HTTPProgress { status.progress }

  /// The progress now, and then whenever it changes. A reader that is slow gets the newest figures and misses those in between.
  /// The sequence ends with the task; each call returns another one.
  public func progressUpdates() -> AsyncStream<HTTPProgress> { status.progressUpdates() }

  /// Begins, or goes on.
  public func resume() { change(to: false) }

  /// Holds still: nothing is sent or read, and the activity of the request ends. The connection stays.
  public func suspend() { change(to: true) }

  /// Ends it with `cancelled`, unless it is over.
  public func cancel() { inbox.send(.cancel(id)) }

  private func change(to value: Bool) {
    status.wish(isSuspended: value) {
      inbox.send(value ? .suspend(id) : .resume(id)) { last in
        // A task is made suspended, and begun in the same breath: that is one command.
        guard !value, case .start(let order, true) = last, order.id == id else { return false }
        last = .start(order, isSuspended: false)
        return true
      }
    }
  }
}

extension HTTPTask: CustomStringConvertible {
  /// One line with the request, the label and the state, without the query: `GET https://example.org/users (running)`.
  public var description: String {
    "\(request.title)\(info.label.map { " '\($0)'" } ?? "") (\(state))"
  }
}

extension HTTPTask: Hashable {
  public static func == (left: HTTPTask, right: HTTPTask) -> Bool { left.id == right.id }
  public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
