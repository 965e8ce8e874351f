import Netwatch

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
