import Netwatch
import NetwatchEventLoop
import NetwatchStream

/// The history of the network according to the log: spans without a change, and outages, each in order.
///
/// Several writers may have watched at once, such as the service and a `--follow` in a terminal. What several of them have seen
/// is included only once.
package struct LogHistory: Sendable {
  /// The spans without a change, in order.
  package private(set) var spans: [LogSpan] = []
  /// The outages, in order.
  package private(set) var outages: [Outage] = []

  /// Creates the history from entries.
  ///
  /// - Parameters:
  ///   - entries: The entries with the numbers of their runs, in the order in which they were stored.
  ///   - runs: The runs of the writers.
  ///   - now: The current time. Writers that still run have watched until then.
  package init(_ entries: [(run: Int64, entry: LogEntry)], runs: [LogRun], now: LogMoment) {
    var histories: [Int64: RunHistory] = [:]
    var ends: [Int64: LogMoment] = [:]
    for (run, entry) in entries {
      histories[run, default: RunHistory()].add(entry)
      ends[run] = entry.moment
    }
    let known = Dictionary(runs.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    for (run, end) in ends {
      var last = end
      if let run = known[run] {
        let seen = LogMoment(wall: run.seen, monotonic: run.seenMonotonic, boot: run.seenMonotonic)
        if seen.monotonic > last.monotonic { last = seen }
        if run.isLive, now.monotonic > last.monotonic { last = now }
      }
      histories[run]?.end(at: last, isLive: known[run]?.isLive ?? false)
    }
    spans = Self.merged(histories.sorted { $0.key < $1.key }.map(\.value.spans))
    outages = Self.merged(histories.flatMap { run, history in history.outages.map { (run, $0) } })
  }

  /// Returns the part of the history since a time in microseconds since 1970. An outage is included if it ended later.
  package func since(_ moment: Int64) -> LogHistory {
    var result = self
    result.spans = spans.compactMap { $0.clipped(to: moment..<Int64.max) }
    result.outages = outages.filter { $0.end >= moment }
    return result
  }

  /// Merges the spans of several writers, the first of which counts; the others only add times that are not covered yet. A
  /// writer whose clock was wrong covers only the wrong times.
  private static func merged(_ runs: [[LogSpan]]) -> [LogSpan] {
    var result: [LogSpan] = []
    // Disjoint, in order.
    var covered: [Range<Int64>] = []
    for spans in runs {
      for span in spans {
        if let last = covered.last, span.began < last.upperBound {
          result += span.outside(covered)
        } else {
          result.append(span)
        }
      }
      covered = (covered + spans.map { $0.began..<$0.end }.united).united
    }
    return result.sorted { $0.began < $1.began }
  }

  /// Merges outages that different writers have seen at the same time. Outages of one writer are never merged: they only seem
  /// to overlap if the wall clock was set.
  private static func merged(_ outages: [(run: Int64, outage: Outage)]) -> [Outage] {
    var result: [(run: Int64, outage: Outage)] = []
    for (run, outage) in outages.sorted(by: { ($0.outage.began, $0.run) < ($1.outage.began, $1.run) }) {
      guard let (lastRun, last) = result.last, lastRun != run, outage.began < last.end else {
        result.append((run, outage))
        continue
      }
      result[result.count - 1].outage = last.joined(with: outage)
    }
    return result.map(\.outage)
  }
}

extension Outage {
  /// Returns the outage as it follows from the data of two writers.
  fileprivate func joined(with later: Outage) -> Outage {
    var joined = self
    if !isBeginningSeen, later.isBeginningSeen {
      (joined.reason, joined.lost, joined.isBeginningSeen) = (later.reason, later.lost, true)
    }
    joined.carrierLosses = max(carrierLosses, later.carrierLosses)
    joined.note = joined.note ?? later.note
    if later.end > end { joined.length = later.end.subtractingSaturated(began) }
    if ending != .seen, later.ending == .seen || later.end > end { joined.ending = later.ending }
    return joined
  }
}

/// The spans and outages that follow from the entries of one writer, which are added in order. Pure: it reads no clock.
struct RunHistory: Sendable {
  private(set) var spans: [LogSpan] = []
  private(set) var outages: [Outage] = []
  /// The current state and the time of its beginning; nil before the first change.
  private var current: (state: LogState, since: LogMoment)?
  private var last: LogMoment?
  /// The outage that has not ended, and the time since which it is known to last; that time is nil while the status is unknown.
  private var outage: (value: Outage, since: LogMoment?)?

  mutating func add(_ entry: LogEntry) {
    switch entry.content {
    case .change(let state, let count, let losses):
      change(to: state, at: entry.moment, isMerged: count > 1, carrierLosses: losses)
      if state.isOutage, let note = entry.note, outage?.value.note == nil { outage?.value.note = note }
    case .suspend(let length):
      // The suspend began this long before the resume, by the wall clock at the resume.
      closeSpan(at: entry.moment)
      spans.append(LogSpan(began: entry.moment.wall.subtractingSaturated(length), length: length, content: .suspended))
      if let state = current?.state { current = (state, entry.moment) }
    }
    last = entry.moment
  }

  /// Ends the history at `moment`, until which the writer has watched.
  mutating func end(at moment: LogMoment, isLive: Bool) {
    closeSpan(at: moment)
    closeOutage(at: moment, isLive ? .ongoing : .unseen)
    current = nil
  }

  private mutating func change(to state: LogState, at moment: LogMoment, isMerged: Bool, carrierLosses: Int64) {
    if isMerged {
      // The path may have come back and been lost again in between.
      closeOutage(at: last ?? moment, .unseen)
    } else {
      closeSpan(at: moment)
    }
    let before = isMerged ? nil : current?.state
    current = (state, moment)
    switch state.status {
    case .notReachable:
      if outage == nil {
        let wasReachable = before?.status.isReachable ?? false
        outage = (
          Outage(
            began: moment.wall, length: 0, reason: state.reason, lost: wasReachable ? before : nil,
            isBeginningSeen: wasReachable, ending: .ongoing), nil
        )
      } else {
        countOutage(until: moment)
      }
      outage?.since = moment
      outage?.value.add(carrierLosses)
    case .wifi, .wwan:
      if outage == nil, carrierLosses > 0, !isMerged, let before, before.isOver(sameLinkAs: state) {
        // The carrier was back before anybody could see that the path was lost.
        outage = (
          Outage(
            began: moment.wall, length: 0, reason: ReachabilityReason.noCarrier.rawValue, lost: before,
            isBeginningSeen: true, ending: .ongoing), moment
        )
      }
      outage?.value.add(carrierLosses)
      closeOutage(at: moment, .seen)
    // An unknown status neither begins nor ends an outage, and its time does not count.
    case .unknown: countOutage(until: moment)
    }
  }

  private mutating func countOutage(until moment: LogMoment) {
    guard let (value, since) = outage, let since else { return }
    // A file may have any times, so that the sum may not fit.
    outage?.value.length = value.length.addingSaturated(moment.microseconds(since: since))
    outage?.since = nil
  }

  private mutating func closeSpan(at moment: LogMoment) {
    guard let current else { return }
    let length = moment.microseconds(since: current.since)
    if length > 0 { spans.append(LogSpan(began: current.since.wall, length: length, content: .state(current.state))) }
  }

  private mutating func closeOutage(at moment: LogMoment, _ ending: Outage.Ending) {
    countOutage(until: moment)
    guard var closed = outage?.value else { return }
    outage = nil
    closed.ending = ending
    outages.append(closed)
  }
}

/// The run of one writer: the time in which it watches.
package struct LogRun: Hashable, Sendable {
  /// The number of the run.
  package let id: Int64
  /// The last time at which the writer is known to have run, in microseconds since 1970.
  package var seen: Int64
  /// The last time at which the writer is known to have run, in microseconds of the monotonic clock.
  package var seenMonotonic: Int64
  /// Whether the writer runs now.
  package var isLive: Bool

  /// Creates a run.
  package init(id: Int64, seen: Int64, seenMonotonic: Int64, isLive: Bool) {
    (self.id, self.seen, self.seenMonotonic, self.isLive) = (id, seen, seenMonotonic, isLive)
  }
}

/// A span of time without a change.
package struct LogSpan: Hashable, Sendable {
  /// The state during a span.
  package enum Content: Hashable, Sendable {
    /// The machine was awake, and the path had this state.
    case state(LogState)
    /// The machine was suspended.
    case suspended
  }

  /// The beginning, in microseconds since 1970.
  package var began: Int64
  /// The length, in microseconds.
  package var length: Int64
  /// The state during the span.
  package let content: Content

  /// The end, in microseconds since 1970.
  package var end: Int64 { began.addingSaturated(length) }

  /// Returns the parts of the span that are not within `times`, which are disjoint and in order.
  func outside(_ times: [Range<Int64>]) -> [LogSpan] {
    var parts: [LogSpan] = []
    var start = began
    for range in times where range.upperBound > start {
      guard range.lowerBound < end else { break }
      if let part = clipped(to: start..<max(start, range.lowerBound)) { parts.append(part) }
      start = range.upperBound
    }
    if let part = clipped(to: start..<max(start, end)) { parts.append(part) }
    return parts
  }

  /// Returns the part of the span within a range of times in microseconds since 1970; nil if there is none.
  func clipped(to range: Range<Int64>) -> LogSpan? {
    let (first, last) = (max(began, range.lowerBound), min(end, range.upperBound))
    return first < last ? LogSpan(began: first, length: last - first, content: content) : nil
  }
}

extension [Range<Int64>] {
  /// The same times as disjoint ranges, in order.
  fileprivate var united: [Range<Int64>] {
    var result: [Range<Int64>] = []
    for range in sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = result.last, range.lowerBound <= last.upperBound {
        result[result.count - 1] = last.lowerBound..<Swift.max(last.upperBound, range.upperBound)
      } else {
        result.append(range)
      }
    }
    return result
  }
}

/// The total times of spans, in microseconds.
package struct LogTimes: Hashable, Sendable {
  /// The time in which the network was reachable.
  package private(set) var reachable: Int64 = 0
  /// The time in which the network was not reachable.
  package private(set) var notReachable: Int64 = 0
  /// The time in which the machine was suspended.
  package private(set) var suspended: Int64 = 0

  init() {}

  init(_ spans: [LogSpan]) {
    for span in spans { add(span) }
  }

  mutating func add(_ span: LogSpan) {
    switch span.content {
    case .suspended: suspended = suspended.addingSaturated(span.length)
    case .state(let state) where state.status.isReachable: reachable = reachable.addingSaturated(span.length)
    case .state(let state): if state.isOutage { notReachable = notReachable.addingSaturated(span.length) }
    }
  }

  /// The time in which the status was known and the machine was not suspended.
  package var watched: Int64 { reachable.addingSaturated(notReachable) }

  /// The part of ``watched`` in which the network was reachable, from 0 to 1; nil if nothing was watched.
  package var availability: Double? { watched > 0 ? Double(reachable) / Double(watched) : nil }
}

/// A time in which the network was not reachable: from the change that lost the path to the one that restored it.
public struct Outage: Hashable, Sendable {
  /// How an outage has ended.
  public enum Ending: String, Hashable, Sendable {
    /// The path came back, and the log has the time.
    case seen
    /// The end is not known, because nothing watched: netwatch or its writer had ended, or the machine had lost power.
    case unseen
    /// The outage continues, and netwatch watches.
    case ongoing
  }

  /// The beginning, in microseconds since 1970, by the wall clock at that time.
  package var began: Int64
  /// The time that it lasted while the machine was awake, in microseconds of the monotonic clock. If the end was not seen, it
  /// lasted at least this long.
  package var length: Int64
  /// The reason for the loss of the path, as a word of the stream, such as `no_carrier`. Later versions may have new words.
  public package(set) var reason: String
  /// The path that was lost; nil if that is not known.
  package var lost: LogState?
  /// How often the link that carried the traffic has lost its carrier, as the kernel counts: more than once if it has flapped faster
  /// than a path is published. 0 if the carrier was not lost, or the log does not say.
  public package(set) var carrierLosses = 0
  /// What else is known of the loss, for people, such as why WiFi has ended; nil if nothing is.
  public package(set) var note: String?
  /// Whether the log has the time of the beginning. If not, the outage began before netwatch watched.
  public package(set) var isBeginningSeen: Bool
  /// How the outage has ended.
  public package(set) var ending: Ending

  /// The end or the last time at which it was seen, in microseconds since 1970.
  package var end: Int64 { began.addingSaturated(length) }

  /// The beginning, in nanoseconds since 1970 in UTC, by the wall clock at that time.
  public var nanosecondsSince1970: Int64 {
    // A file may have any time.
    let (nanoseconds, isTooLarge) = began.multipliedReportingOverflow(by: 1_000)
    return isTooLarge ? (began < 0 ? .min : .max) : nanoseconds
  }
  /// The time that the outage has lasted while the machine was awake. If its end was not seen, it has lasted at least this long.
  public var duration: Duration { .microseconds(length) }
  /// The interface that carried the traffic before; nil if that is not known.
  public var lostInterface: NetworkPath.LostInterface? {
    lost.flatMap { state in
      state.medium.map { .init(kernelName: InterfaceName(state.interface), medium: $0, ssid: state.ssid) }
    }
  }
}

extension Outage {
  fileprivate mutating func add(_ losses: Int64) {
    carrierLosses = Int(Int64(carrierLosses).addingSaturated(losses))
  }
}

extension Outage: CustomStringConvertible {
  /// The beginning in UTC, the duration and what was lost, such as `2026-11-21T08:15:00Z: 12.0 seconds, no carrier, wired eth0`.
  public var description: String {
    var time = LineBuffer()
    time.append(CivilTime(secondsSince1970: began / 1_000_000))
    let lost = lostInterface.map { ", \($0)" } ?? ""
    return "\(time.text)Z: \(duration)\(ending == .ongoing ? " so far" : ""), \(reason.words)\(lost)"
  }
}
