import Netwatch

/// The public state of a task or of a download, with its progress. All members can be used from any thread.
final class TaskStatus: Sendable {
  private struct Facts: Sendable {
    var state: HTTPTaskInfo.State
    var progress: HTTPProgress
    /// Nil until somebody follows the states.
    var states: Broadcast<HTTPTaskInfo.State, Never>?
    /// Nil until somebody follows the progress.
    var updates: Broadcast<HTTPProgress, Never>?
  }

  /// A change that has its place in the order, but has not been delivered yet.
  struct Change: Sendable {
    fileprivate var progress: Broadcast<HTTPProgress, Never>.Offer?
    fileprivate var state: Broadcast<HTTPTaskInfo.State, Never>.Offer?

    func deliver() {
      progress?.deliver()
      state?.deliver()
    }
  }

  private let facts: Lock<Facts>
  /// The wish of the callers, which the transfer may not have followed yet; and the number of task objects that can change it.
  private let wish: Lock<(isSuspended: Bool, holders: Int)>

  init(_ state: HTTPTaskInfo.State = .suspended, _ progress: HTTPProgress = HTTPProgress()) {
    wish = Lock((false, 0))
    facts = Lock(Facts(state: state, progress: progress))
  }

  var state: HTTPTaskInfo.State { facts.withLock { $0.state } }
  var progress: HTTPProgress { facts.withLock { $0.progress } }

  func change(to state: HTTPTaskInfo.State) { stage(state).deliver() }
  func change(to progress: HTTPProgress) { stage(progress: progress).deliver() }

  /// The first half of a change, for a caller that holds a lock. The caller delivers the change after releasing the lock.
  func stage(_ state: HTTPTaskInfo.State? = nil, progress: HTTPProgress? = nil) -> Change {
    facts.withLock { facts in
      var change = Change()
      if let progress {
        facts.progress = progress
        change.progress = facts.updates?.stage(progress)
      }
      // Nothing comes after the end.
      if let state, state != facts.state, facts.state != .finished {
        facts.state = state
        change.state = facts.states?.stage(state)
      }
      return change
    }
  }

  /// Ends the status with the task or the download.
  func end() {
    let (states, updates) = facts.withLock { facts in
      facts.state = .finished
      return (facts.states, facts.updates)
    }
    states?.publish(.finished)
    states?.end(.success(()))
    updates?.end(.success(()))
  }

  /// Publishes the current state, and then each change. Ends after ``HTTPTaskInfo/State/finished``.
  var states: Broadcast<HTTPTaskInfo.State, Never> {
    facts.withLock { facts in
      if let states = facts.states { return states }
      let states = Broadcast<HTTPTaskInfo.State, Never>(facts.state)
      if facts.state == .finished { states.end(.success(())) }
      facts.states = states
      return states
    }
  }

  /// Publishes the current progress, and then each change. Ends with the task or the download.
  var updates: Broadcast<HTTPProgress, Never> {
    facts.withLock { facts in
      if let updates = facts.updates { return updates }
      let updates = Broadcast<HTTPProgress, Never>(facts.progress)
      if facts.state == .finished { updates.end(.success(())) }
      facts.updates = updates
      return updates
    }
  }

  // MARK: Its holders

  /// Counts a new task object for the transfer.
  func retain() { wish.withLock { $0.holders += 1 } }

  /// Counts the release of a task object.
  ///
  /// - Returns: Whether no task object is left that could resume the suspended transfer.
  func release() -> Bool {
    wish.withLock { wish in
      wish.holders -= 1
      return wish.holders == 0 && wish.isSuspended
    }
  }

  /// - Parameter send: Called under a lock, so that the loop gets the wishes of several threads in the same order.
  func wish(isSuspended: Bool, _ send: () -> Void) {
    wish.withLock { wish in
      wish.isSuspended = isSuspended
      send()
    }
  }
}
