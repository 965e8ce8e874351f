/// Decides what the log stores: each change, each suspend, and the traffic of each day.
package struct LogMachine: Sendable {
  package enum Event: Sendable {
    case line(LogLine)
    /// The wall clock was set, the machine has awoken, or it is time to look.
    case clock(LogMoment)
  }

  /// Two readings of two clocks are never quite simultaneous; no suspend is shorter.
  static let shortestSuspend: Int64 = 100_000

  /// The suspended time that is stored, by the last moment; nil before the first.
  private var suspended: Int64?
  /// What links have carried and is not stored yet.
  package private(set) var traffic = TrafficTally()

  package init() {}

  /// What is to be stored, in this order.
  package mutating func handle(_ event: Event) -> [LogEntry] {
    switch event {
    case .clock(let moment): return suspend(until: moment)
    case .line(let line):
      let suspend = suspend(until: line.moment)
      switch line.content {
      case .change(let state, let count): return suspend + [LogEntry(line.moment, .change(state, count: count))]
      case .traffic(let figures):
        traffic.add(figures, at: line.moment.wall)
        return suspend
      }
    }
  }

  /// The traffic that is to be stored, each with its day and link. The next call has what was added since.
  package mutating func takeTraffic() -> [TrafficTally.Sum] { traffic.take() }

  private mutating func suspend(until moment: LogMoment) -> [LogEntry] {
    let before = suspended ?? moment.suspended
    suspended = max(before, moment.suspended)
    let length = moment.suspended.subtractingSaturated(before)
    return length >= Self.shortestSuspend ? [LogEntry(moment, .suspend(length))] : []
  }
}
