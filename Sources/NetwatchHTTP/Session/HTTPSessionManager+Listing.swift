import NetwatchEventLoop

/// All tasks of a session: the list of them, their end, and what happens to them.
extension HTTPSessionManager {
  /// The tasks that are not over, in the order in which they were made: also those that are awaited or read as streams, and the
  /// requests of downloads and batches. None if the session has ended.
  ///
  /// - Parameter kind: The kind of tasks to list. Default: nil, which means all.
  public func tasks(of kind: HTTPTaskInfo.Kind? = nil) async -> [HTTPTask] {
    var tasks: [HTTPTask] = []
    for inbox in engines.inboxes {
      tasks += await withCheckedContinuation { continuation in
        let answer = OneShot(otherwise: []) { continuation.resume(returning: $0) }
        inbox.send(.run { engine in answer.fulfill(engine.tasks(kind).map { HTTPTask($0.order, $0.status, inbox) }) })
      }
    }
    return tasks.sorted { engines.place(of: $0.id) < engines.place(of: $1.id) }
  }

  /// Ends all tasks with `cancelled`. The session takes further ones.
  public func cancelAll() { engines.forEach { $0.cancelAll() } }

  /// What happens to the tasks from now on. Ends with the session; each call returns another sequence. The events of a task are
  /// in order.
  ///
  /// The session does not wait for the reader. To see each event without a gap, use
  /// ``HTTPSessionConfiguration/eventObservers``.
  ///
  /// - Parameter capacity: The most events that wait for the reader: beyond it, the oldest are dropped. Default: 1,024.
  public func taskEvents(bufferingNewest capacity: Int = 1_024) -> AsyncStream<HTTPEvent> {
    AsyncStream(bufferingPolicy: .bufferingNewest(max(capacity, 1))) { stream in
      let reader = EventReader(stream)
      stream.onTermination = { [engines, weak reader] _ in
        guard let reader else { return }
        engines.forEach { $0.events.remove(reader) }
      }
      engines.forEach { $0.events.add(reader) }
    }
  }
}
