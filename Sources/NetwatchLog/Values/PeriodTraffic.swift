import Netwatch

/// The bytes that a link has carried in a day or a month of the local calendar.
package struct PeriodTraffic: Hashable, Sendable {
  /// Whether the period is a month; otherwise, it is a day.
  package let isMonth: Bool
  /// The day or the month, such as `2026-11-24` or `2026-11`.
  package let name: String
  /// The name of the link.
  package let interface: String
  /// The received bytes.
  package internal(set) var received: Int64
  /// The sent bytes.
  package internal(set) var sent: Int64

  /// Adds up the bytes of days. The result is sorted by period, then by the name of the link.
  package static func sums(of days: [TrafficTally.Sum], byMonth isByMonth: Bool) -> [PeriodTraffic] {
    var sums: [String: [String: PeriodTraffic]] = [:]
    for day in days {
      let name = isByMonth ? String(day.date.dropLast(3)) : day.date
      let none = PeriodTraffic(isMonth: isByMonth, name: name, interface: day.interface, received: 0, sent: 0)
      var sum = sums[name]?[day.interface] ?? none
      sum.received = sum.received.addingSaturated(day.received)
      sum.sent = sum.sent.addingSaturated(day.sent)
      sums[name, default: [:]][day.interface] = sum
    }
    return sums.values.flatMap(\.values).sorted { ($0.name, $0.interface) < ($1.name, $1.interface) }
  }
}
