import Netwatch
import NetwatchEventLoop
import NetwatchStream

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
  private static let shortestSuspend: Int64 = 100_000

  /// The time in suspend that is already stored, at the last moment; nil before the first.
  private var suspended: Int64?
  /// The link that carried the traffic last, and how often it had lost its carrier by then; nil if that is not known.
  private var carrier: LogLine.Carrier?
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
      case .change(let state, let count):
        let change = LogEntry.Content.change(state, count: count, carrierLosses: carrierLosses(until: line.carrier))
        return suspend + [LogEntry(line.moment, change, note: line.note)]
      case .flap(let state):
        let losses = carrierLosses(until: line.carrier)
        return suspend + (losses > 0 ? [LogEntry(line.moment, .change(state, count: 1, carrierLosses: losses))] : [])
      case .traffic(let links):
        for link in links { traffic.add(link, at: line.moment.wall) }
        return suspend
      }
    }
  }

  /// Returns the traffic to store, by day and link, and resets it. The next call returns what was added since.
  package mutating func takeTraffic() -> [TrafficTally.Sum] { traffic.take() }

  /// Returns how often the link has lost its carrier since the line before. Another link counts from now on.
  private mutating func carrierLosses(until new: LogLine.Carrier?) -> Int64 {
    guard let new else { return 0 }
    defer { carrier = new }
    guard let carrier, carrier.index == new.index else { return 0 }
    return max(new.losses.subtractingSaturated(carrier.losses), 0)
  }

  private mutating func suspend(until moment: LogMoment) -> [LogEntry] {
    let before = suspended ?? moment.suspended
    suspended = max(before, moment.suspended)
    let length = moment.suspended.subtractingSaturated(before)
    return length >= Self.shortestSuspend ? [LogEntry(moment, .suspend(length))] : []
  }
}

/// One line that the writer reads: a line of the stream, with additional data from netwatch for the log.
package struct LogLine: Sendable {
  /// The kind and data of a line.
  package enum Content: Sendable {
    /// The path, and the number of changes that are merged into it.
    case change(LogState, count: Int64)
    /// The path is as before, but its link may have lost its carrier for a moment.
    case flap(LogState)
    /// The bytes that each link that carries the path has received and sent since its counter began.
    case traffic([LinkTraffic])
  }

  /// The link that carries the traffic, or did so last, and how often it has lost its carrier.
  struct Carrier: Hashable, Sendable {
    let index: Int64
    let losses: Int64
  }

  /// The time of the line.
  package let moment: LogMoment
  /// The kind and data of the line.
  package let content: Content
  /// Nil if it is not known.
  let carrier: Carrier?
  /// What else is known, for people; nil if nothing is.
  let note: String?

  /// Reads a line without its newline. Nil if the line is not one of the stream, or not one that the log stores.
  ///
  /// - Parameters:
  ///   - line: The bytes of the line.
  ///   - now: The current time, for the time in suspend if the line does not have it.
  package init?(_ line: ArraySlice<UInt8>, now: LogMoment) {
    guard let value = JSONValue(line), let record = EventRecord(value) else { return nil }
    let monotonic = record.monotonicNanoseconds / 1_000
    let boot = value["log"]?["boot_ns"]?.integer(in: 0...Int64.max).map { $0 / 1_000 }
    moment = LogMoment(
      wall: record.nanosecondsSince1970 / 1_000, monotonic: monotonic,
      boot: boot ?? monotonic.addingSaturated(now.suspended))
    let log = value["log"]
    note = log?["note"]?.string
    if let index = log?["carrier"]?.integer(in: 1...Int64(Int32.max)),
      let losses = log?["carrier_losses"]?.integer(in: 0...Int64(UInt32.max))
    {
      carrier = Carrier(index: index, losses: losses)
    } else {
      carrier = nil
    }
    switch record.event {
    case .initial, .reachability:
      let count = value["log"]?["changes"]?.integer(in: 1...Int64(Int32.max)) ?? 1
      content = .change(LogState(record.path, reason: record.reason), count: count)
    case .traffic:
      let traffic = record.carriersTraffic
      if traffic.isEmpty { return nil }
      content = .traffic(traffic)
    case .interfaces: content = .flap(LogState(record.path, reason: record.reason))
    case .activity, .wifi, .quality, .stages: return nil
    }
  }
}

/// Counts the bytes that links receive and send on each day of the local calendar, from counters that only grow or restart.
package struct TrafficTally: Hashable, Sendable {
  /// The bytes of one link on one day.
  package struct Sum: Hashable, Sendable {
    /// The day as a number, such as 20261124.
    package let day: Int64
    /// The name of the link.
    package let interface: String
    /// The received bytes.
    package var received: Int64
    /// The sent bytes.
    package var sent: Int64

    /// Creates a sum.
    package init(day: Int64, interface: String, received: Int64, sent: Int64) {
      (self.day, self.interface, self.received, self.sent) = (day, interface, received, sent)
    }

    /// The day as text, such as `2026-11-24`.
    package var date: String {
      [day / 10_000, day / 100 % 100, day % 100].map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: "-")
    }
  }

  private struct Counter: Hashable, Sendable {
    var index: Int32
    var received: UInt64
    var sent: UInt64
  }

  /// The last reading of each link. A machine may create links all the time; if there are too many, all readings are forgotten.
  private var counters: [String: Counter] = [:]
  private var sums: [Sum] = []
  private static let mostLinks = 64

  /// Whether there is no traffic to store.
  package var isEmpty: Bool { sums.isEmpty }

  /// Adds the difference to the last reading of the link.
  ///
  /// - Parameter wall: The time in microseconds since 1970.
  mutating func add(_ figures: LinkTraffic, at wall: Int64) {
    let name = figures.interfaceName
    let next = Counter(
      index: figures.interfaceIndex, received: figures.receivedBytes, sent: figures.sentBytes)
    if counters.count >= Self.mostLinks, counters[name] == nil { counters = [:] }
    guard let last = counters.updateValue(next, forKey: name), last.index == next.index else { return }
    // A counter that has restarted has counted this much since.
    func growth(_ old: UInt64, _ new: UInt64) -> Int64 { Int64(clamping: new >= old ? new - old : new) }
    let (received, sent) = (growth(last.received, next.received), growth(last.sent, next.sent))
    guard received > 0 || sent > 0 else { return }
    let day = LocalTime(wall).day
    if let place = sums.firstIndex(where: { $0.day == day && $0.interface == name }) {
      sums[place].received = sums[place].received.addingSaturated(received)
      sums[place].sent = sums[place].sent.addingSaturated(sent)
    } else {
      sums.append(Sum(day: day, interface: name, received: received, sent: sent))
    }
  }

  mutating func take() -> [Sum] {
    defer { sums = [] }
    return sums
  }
}
