import HTTPTypes
import Netwatch
import Synchronization

/// A request of a ``HTTPSessionManager``. All members can be used from any thread, and no call waits.
///
/// A task does not retain its manager, and retains nothing of it after the manager has ended. A suspended task is cancelled
/// when it is released. Two objects that stand for the same task are equal.
public final class HTTPTask: Sendable {
  /// The state of a task.
  public typealias State = HTTPTaskInfo.State

  /// The id, the kind and the label of the task.
  public let info: HTTPTaskInfo
  /// The request that the task was made from, before redirects and interceptors.
  public let request: HTTPRequest
  let status: TaskStatus
  private let engine: EngineHandle

  /// Creates an object for a task. It keeps nothing of the plan but the request: neither the body, nor the closures of the options.
  init(_ id: RequestID, _ plan: RequestPlan, _ status: TaskStatus, _ engine: EngineHandle) {
    info = HTTPTaskInfo(id: id, kind: plan.kind, label: plan.options.label)
    request = plan.request
    self.status = status
    self.engine = engine
    status.retain()
  }

  deinit {
    if status.release() { cancel() }
  }

  /// The id by which a `RequestObserver` knows the task.
  public var id: RequestID { info.id }

  /// The current state of the task.
  public var state: State { status.state }

  /// The current state of the task, and then each change. A slow reader gets the newest state, and misses those in between. The
  /// sequence ends after ``HTTPTaskInfo/State/finished``.
  ///
  /// The sequence does not hold the task: if nobody else does, a suspended task is cancelled.
  public var states: some AsyncSequence<State, Never> & Sendable {
    LatestValues(broadcast: status.states, owner: status)
  }

  /// The bytes that were sent and received so far, with the totals if they are known.
  public var progress: HTTPProgress { status.progress }

  /// Returns the current progress, and then each change. A slow reader gets the newest figures, and misses those in between.
  /// The sequence ends with the task. Each reader reads independently of the others.
  public func progressUpdates() -> some AsyncSequence<HTTPProgress, Never> & Sendable {
    LatestValues(broadcast: status.updates, owner: status)
  }

  /// Begins the task, or continues it after a suspension.
  public func resume() { change(to: false) }

  /// Suspends the task: nothing is sent or read, and the activity of the request ends. The connection stays open.
  public func suspend() { change(to: true) }

  /// Cancels the task, which ends with `cancelled`, unless it is already over.
  public func cancel() { engine.cancel(id) }

  /// Cancels the task, without holding this object.
  var canceller: @Sendable () -> Void { { [engine, id] in engine.cancel(id) } }

  private func change(to value: Bool) {
    status.wish(isSuspended: value) { engine.run(id) { value ? $0.handle(.suspended) : $0.resume() } }
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
