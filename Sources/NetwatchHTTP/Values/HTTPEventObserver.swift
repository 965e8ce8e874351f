/// Hears of all that happens to the tasks of a session, for logs, metrics and traces. See
/// ``HTTPSessionConfiguration/eventObservers``.
public protocol HTTPEventObserver: Sendable {
  /// Called on the thread of the session, in the order of the events: while it runs, nothing is sent or received, so it has to
  /// be short. The completion of a task may run before its last events.
  ///
  /// A session with several ``HTTPThreads`` calls it on each of them, on several at the same time. The events of one task come on
  /// one thread, in their order.
  func handle(_ event: HTTPEvent)
}
