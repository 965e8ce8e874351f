/// The summary of one day of the local calendar. Times are in microseconds.
package struct DaySummary: Hashable, Sendable {
  /// The beginning of the day, in microseconds since 1970.
  package let start: Int64
  /// The beginning of the next day, in microseconds since 1970. A day has 23, 24 or 25 hours.
  package let end: Int64
  /// The reachable, unreachable and suspended times of the day.
  package private(set) var times = LogTimes()
  /// The time for which each network carried the path, by the network's name.
  package private(set) var networks: [String: Int64] = [:]
  /// The number of outages that began on the day.
  package private(set) var outages = 0
  /// The spans of the day, in order.
  package private(set) var spans: [LogSpan] = []

  /// Returns the summaries of the days from the first known one to the last, in order; at most the last `limit` of them.
  package static func days(of history: LogHistory, limit: Int) -> [DaySummary] {
    guard let first = history.spans.map(\.began).min(), let last = history.spans.map(\.end).max() else { return [] }
    let earliest = LocalTime(last).startOfDay(later: 1 - max(limit, 1))
    var start = LocalTime(max(first, earliest)).startOfDay()
    var days: [DaySummary] = []
    while start < last, days.count < limit {
      let end = LocalTime(start).startOfDay(later: 1)
      // In no calendar is a day empty; if one is, stop instead of looping for ever.
      guard end > start else { break }
      days.append(DaySummary(start: start, end: end))
      start = end
    }
    for span in history.spans {
      guard var place = days.firstIndex(where: { span.began < $0.end }) else { continue }
      while place < days.count, days[place].start < span.end {
        if let part = span.clipped(to: days[place].start..<days[place].end) { days[place].add(part) }
        place += 1
      }
    }
    for outage in history.outages {
      guard let place = days.firstIndex(where: { $0.start <= outage.began && outage.began < $0.end }) else { continue }
      days[place].outages += 1
    }
    return days
  }

  /// The sum of the lengths of ``spans``.
  private var covered: Int64 = 0

  private init(start: Int64, end: Int64) { (self.start, self.end) = (start, end) }

  private mutating func add(_ span: LogSpan) {
    // If the wall clock was set back, spans overlap. A file that somebody has made could have any number of whole days in a day.
    guard covered < 2 * (end - start) else { return }
    covered = covered.addingSaturated(span.length)
    spans.append(span)
    times.add(span)
    guard case .state(let state) = span.content, state.status.isReachable, let name = state.networkName else { return }
    networks[name] = (networks[name] ?? 0).addingSaturated(span.length)
  }
}
