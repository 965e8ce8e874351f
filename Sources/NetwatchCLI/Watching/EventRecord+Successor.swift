import NetwatchStream

extension EventRecord {
  /// This state as news for somebody who knows another one; nil if it is none.
  func successor(of known: EventRecord, becauseOf reason: ActivityReason) -> EventRecord? {
    var next = self
    if !path.saysTheSame(as: known.path) {
      next.event = .reachability
      // "initial" is for the first line.
      if path.reason == .initial { next.path = path.with(reason: .resynced) }
      return next
    }
    guard activity != known.activity else { return nil }
    next.event = .activity
    next.activityReason = reason
    return next
  }
}
