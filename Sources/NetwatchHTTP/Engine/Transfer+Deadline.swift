import Netwatch
import NetwatchEventLoop

/// The deadlines of a task.
extension Transfer {
  /// The time at which nothing has moved for too long, or at which the task's total time is over. Nil if there is no limit now.
  var deadline: Duration? {
    guard machine.isAttached, !machine.isSuspended, !isStalled, let timeout = options.timeout else { return end }
    if attempt.verdict.isAsking || exchange?.delivery != nil { return end }
    let idleEnd = lastMoved + timeout.asDelay
    return end.map { min($0, idleEnd) } ?? idleEnd
  }

  /// Starts the time for the whole task. Only the first call counts, and the first one after ``forgetClock()``.
  func startClock() {
    if end == nil, let limit = options.totalTimeout { end = engine.now + limit.asDelay }
    engine.watchDeadline(of: self)
  }

  /// Stops the time for the whole task if its first attempt, which has sent nothing, had no path. The wait for the first path does
  /// not count.
  func forgetClock() { if attempts <= 1 { end = nil } }

  /// Returns whether ``deadline`` has passed. The time in which a request waits for a connection does not count.
  func isLate(at now: Duration) -> Bool {
    guard let deadline, deadline <= now else { return false }
    if !attempt.isBegun { lastMoved = now }
    return self.deadline.map { $0 <= now } ?? false
  }
}
