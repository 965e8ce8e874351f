/// Decides what the log stores: each change, each suspend, and the traffic of each day. Pure: it reads no clock.
package struct LogMachine: Sendable {
  /// The input of the machine.
  package enum Event: Sendable {
    /// A line was read.
    case line(LogLine)
    /// The wall clock was set, the machine has resumed from suspend, or it is time to compare the clocks.
    case clock(LogMoment)
  }

  /// The shortest time in microseconds that counts as a suspend. Two clocks are never read at exactly the same time, and no
  /// suspend is shorter.
  static let shortestSuspend: Int64 = 100_000

  /// The time in suspend that is already stored, at the last moment; nil before the first.
  private var suspended: Int64?
  /// The traffic that is not stored yet.
  package private(set) var traffic = TrafficTally()

  /// Creates a machine without any traffic.
  package init() {}

  /// Handles an event, and returns the entries to store, in order.
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

  /// Returns the traffic to store, by day and link, and resets it. The next call returns what was added since.
  package mutating func takeTraffic() -> [TrafficTally.Sum] { traffic.take() }

  private mutating func suspend(until moment: LogMoment) -> [LogEntry] {
    let before = suspended ?? moment.suspended
    suspended = max(before, moment.suspended)
    let length = moment.suspended.subtractingSaturated(before)
    return length >= Self.shortestSuspend ? [LogEntry(moment, .suspend(length))] : []
  }
}
