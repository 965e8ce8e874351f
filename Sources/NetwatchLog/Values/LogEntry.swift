import Netwatch
import NetwatchEventLoop

/// An entry of the log about one moment.
package struct LogEntry: Hashable, Sendable {
  /// The kind and data of an entry.
  package enum Content: Hashable, Sendable {
    /// The path has changed. `count` is the number of changes that are merged into this one because the writer was not fast
    /// enough, usually 1. The state is that of the last of them. `carrierLosses` is how often the link that carried the traffic has
    /// lost its carrier since the change before.
    case change(LogState, count: Int64, carrierLosses: Int64 = 0)
    /// The machine was suspended for this many microseconds before this moment.
    case suspend(Int64)
  }

  /// The time of the entry.
  package let moment: LogMoment
  /// The kind and data of the entry.
  package let content: Content
  /// What else is known of a change, for people, such as why WiFi has ended; nil if nothing is.
  package let note: String?

  /// Creates an entry.
  package init(_ moment: LogMoment, _ content: Content, note: String? = nil) {
    self.moment = moment
    self.content = content
    self.note = note
  }
}

extension [LogEntry] {
  /// Returns the last `limit` entries. The first of them has the number of changes that are merged into it.
  package func merged(to limit: Int) -> [LogEntry] {
    guard count > limit, limit > 0 else { return self }
    let (old, kept) = (prefix(count - limit + 1), suffix(limit - 1))
    var (changes, losses): (Int64, Int64) = (0, 0)
    var newest: (moment: LogMoment, state: LogState, note: String?)?
    for entry in old {
      guard case .change(let state, let count, let carrierLosses) = entry.content else { continue }
      changes = changes.addingSaturated(count)
      losses = losses.addingSaturated(carrierLosses)
      newest = (entry.moment, state, entry.note)
    }
    guard let newest else { return Array(kept) }
    let change = LogEntry.Content.change(newest.state, count: changes, carrierLosses: losses)
    return [LogEntry(newest.moment, change, note: newest.note)] + kept
  }
}

/// The state of a path in the log: how the machine was reachable, and the reason for the change to this state.
package struct LogState: Hashable, Sendable {
  /// The status of the path.
  package var status: ReachabilityStatus
  /// The reason as a word of the stream, such as `no_carrier`. Later versions may have new words.
  package var reason: String
  /// The kind of the link that carried the path; nil if no link did.
  package var medium: Medium?
  /// The name of the link; empty if there was none.
  package var interface: String
  /// The bytes of the WiFi network's name, which outsiders choose; nil if there was no WiFi network.
  package var ssid: SSID?
  /// Whether the path was expensive.
  package var isExpensive: Bool
  /// The name of the tunnel; empty if there was none.
  package var vpn: String

  /// Creates a state.
  package init(
    status: ReachabilityStatus, reason: String, medium: Medium? = nil, interface: String = "", ssid: SSID? = nil,
    isExpensive: Bool = false, vpn: String = ""
  ) {
    self.status = status
    self.reason = reason
    self.medium = medium
    self.interface = interface
    self.ssid = ssid
    self.isExpensive = isExpensive
    self.vpn = vpn
  }

  /// Creates the state of a path.
  init(_ path: NetworkPath, reason: String) {
    let verdict = path.verdict
    self.init(
      status: verdict.status, reason: reason, medium: verdict.medium, interface: verdict.interfaceName?.text ?? "",
      ssid: verdict.ssid, isExpensive: verdict.cost.expense != nil, vpn: verdict.vpn?.interfaceName ?? "")
  }

  /// Returns whether both states are reachable over the same link.
  func isOver(sameLinkAs other: LogState) -> Bool {
    status.isReachable && other.status.isReachable && !interface.isEmpty && interface == other.interface
  }

  /// Whether the log knows that the network was not reachable. False for an unknown status.
  package var isOutage: Bool { status == .notReachable }

  /// The name of the network for people: that of the WiFi network, else that of the link. Nil if there was none.
  package var networkName: String? {
    if let ssid, !ssid.isHidden { return ssid.text }
    return interface.isEmpty ? nil : interface
  }
}

/// A moment on the three clocks of the kernel, each in microseconds.
package struct LogMoment: Hashable, Sendable {
  /// The time of the wall clock, since 1970 in UTC. It may be set.
  package let wall: Int64
  /// The time of CLOCK_MONOTONIC, which stops during a suspend. Durations are differences of this clock.
  package let monotonic: Int64
  /// The time of CLOCK_BOOTTIME, which continues during a suspend.
  package let boot: Int64

  /// The latest time, in the year 2262: the last one whose nanoseconds since 1970 fit into 63 bits. It is also the limit of the
  /// other clocks.
  static let latest: Int64 = 9_223_372_036_000_000

  /// Creates a moment. A time out of range counts as the nearest possible one.
  package init(wall: Int64, monotonic: Int64, boot: Int64) {
    func possible(_ time: Int64) -> Int64 { min(max(time, 0), Self.latest) }
    (self.wall, self.monotonic, self.boot) = (possible(wall), possible(monotonic), possible(boot))
  }

  /// The current moment.
  package static var now: LogMoment {
    LogMoment(
      wall: KernelClock.wall.nanoseconds / 1_000, monotonic: KernelClock.monotonic.nanoseconds / 1_000,
      boot: KernelClock.boot.nanoseconds / 1_000)
  }

  /// The time that the machine has been suspended since its start, in microseconds.
  package var suspended: Int64 { boot.subtractingSaturated(monotonic) }

  /// Returns the time from `earlier` to this moment in which the machine was awake, in microseconds. Never negative.
  package func microseconds(since earlier: LogMoment) -> Int64 {
    max(monotonic.subtractingSaturated(earlier.monotonic), 0)
  }
}

extension Int64 {
  /// Returns the sum, or the nearest representable number if it does not fit.
  func addingSaturated(_ other: Int64) -> Int64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? (other < 0 ? .min : .max) : sum
  }

  /// Returns the difference, or the nearest representable number if it does not fit.
  func subtractingSaturated(_ other: Int64) -> Int64 {
    let (difference, overflows) = subtractingReportingOverflow(other)
    return overflows ? (other < 0 ? .max : .min) : difference
  }
}
