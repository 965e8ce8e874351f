import Netwatch
import NetwatchEventLoop

/// Until when a task may stand still.
extension Transfer {
  /// When nothing has moved for too long; nil where that does not matter now.
  var deadline: Duration? {
    guard machine.isAttached, !machine.isSuspended, !isStalled, let timeout = options.timeout else { return end }
    if attempt.verdict.isAsking || exchange?.delivery != nil { return end }
    let idleEnd = lastMoved + timeout.asDelay
    return end.map { min($0, idleEnd) } ?? idleEnd
  }

  /// Whether ``deadline`` has come. A request that still waits for a connection has stood still for no time.
  func isLate(at now: Duration) -> Bool {
    guard let deadline, deadline <= now else { return false }
    if !attempt.isBegun { lastMoved = now }
    return self.deadline.map { $0 <= now } ?? false
  }
}
