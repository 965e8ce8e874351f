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
