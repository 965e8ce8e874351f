/// An observer of everything that happens to the tasks of a session, for logs, metrics and traces. See
/// ``HTTPSessionConfiguration/eventObservers``.
public protocol HTTPEventObserver: Sendable {
  /// Handles an event. Called on the session's thread, in the order of the events.
  ///
  /// Nothing is sent or received while this method runs, so keep it short. The completion of a task may run before its last
  /// events arrive here.
  ///
  /// A session whose ``HTTPThreads`` are several threads calls this method on each of them, possibly at the same time. The events of one
  /// task arrive on one thread, in order.
  func handle(_ event: HTTPEvent)
}
