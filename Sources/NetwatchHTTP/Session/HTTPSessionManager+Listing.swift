import NetwatchEventLoop

/// All tasks of a session: their list, their cancellation and their events.
extension HTTPSessionManager {
  /// Returns the tasks that are not over, in the order in which they were made. They include tasks that are awaited or read as
  /// streams, and the requests of downloads and batches. The array is empty if the session has ended.
  ///
  /// - Parameter kind: The kind of the tasks to return. Default: nil, all kinds.
  public func tasks(of kind: HTTPTaskInfo.Kind? = nil) async -> [HTTPTask] {
    var tasks: [HTTPTask] = []
    for engine in engines.handles {
      tasks += await withCheckedContinuation { continuation in
        let answer = OneShot(otherwise: []) { continuation.resume(returning: $0) }
        engine.run { answer.fulfill($0.tasks(kind).map { HTTPTask($0.id, $0.plan, $0.status, engine) }) }
      }
    }
    return tasks.sorted { engines.place(of: $0.id) < engines.place(of: $1.id) }
  }

  /// Cancels all tasks, which end with `cancelled`. The session still accepts new tasks.
  public func cancelAll() { engines.forEach { $0.cancelAll() } }

  /// Returns the events of the session's tasks from now on. Each call returns a new sequence, which ends with the session. The
  /// events of one task are in order.
  ///
  /// The session does not wait for the reader. To get every event, use ``HTTPSessionConfiguration/eventObservers``.
  ///
  /// - Parameter capacity: The most events that wait for the reader, at least 1. Beyond it, the oldest events are dropped.
  ///   Default: 1,024.
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
