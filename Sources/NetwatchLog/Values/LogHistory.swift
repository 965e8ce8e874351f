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

  /// Merges the spans of several writers. The writer that began first counts; the others only add times that are not covered
  /// yet.
  private static func merged(_ runs: [[LogSpan]]) -> [LogSpan] {
    let runs = runs.filter { !$0.isEmpty }.sorted { ($0.first?.began ?? 0) < ($1.first?.began ?? 0) }
    var result: [LogSpan] = []
    var covered = Int64.min
    for run in runs {
      let range = covered..<Int64.max
      var end = covered
      for span in run {
        guard let part = span.clipped(to: range) else { continue }
        result.append(part)
        end = max(end, part.end)
      }
      covered = end
    }
    return result
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
    if later.end > end { joined.length = later.end.subtractingSaturated(began) }
    if ending != .seen, later.ending == .seen || later.end > end { joined.ending = later.ending }
    return joined
  }
}
