import Netwatch
import NetwatchNetlink
import NetwatchStream

/// What is counted as in flight, and how: `--activity` and what belongs to it.
package struct ActivitySettings {
  /// Shorter looks would only wear out the machine.
  private static let shortestInterval = Duration.milliseconds(20)

  package var counts = ServiceIdentity.Counts.requests
  package var connections = ConnectionCounter.Configuration()

  package init() {}

  /// - Parameters:
  ///   - counts: What is counted.
  ///   - exclusions: What is left out of it.
  ///   - interval: The time between two looks at TCP connections; nil for the default.
  ///   - patience: After how long a TCP connection that waits is a long poll; nil for the default.
  ///   - dashes: What stands before the names of options where the user has written them.
  /// - Throws: A sentence about what does not go together.
  package init(
    counts: ServiceIdentity.Counts, exclusions: [ConnectionExclusion], interval: Duration?, patience: Duration?,
    dashes: String
  ) throws(PlainError) {
    if let interval, interval < Self.shortestInterval {
      throw PlainError("\(dashes)activity-interval needs a number from 0.02.")
    }
    if patience == .zero { throw PlainError("\(dashes)activity-patience needs a number above 0.") }
    if !exclusions.isEmpty, counts.isDisjoint(with: [.tcp, .udp]) {
      throw PlainError("\(dashes)activity-ignore is about TCP connections; add \(dashes)activity tcp.")
    }
    if interval != nil, !counts.contains(.tcp) {
      throw PlainError("\(dashes)activity-interval is about TCP connections; add \(dashes)activity tcp.")
    }
    if patience != nil, !counts.contains(.tcp) {
      throw PlainError("\(dashes)activity-patience is about TCP connections; add \(dashes)activity tcp.")
    }
    self.counts = counts
    connections.exclusions = exclusions
    if let interval { connections.rules.interval = interval }
    if let patience { connections.rules.patience = patience }
  }

  /// What to tell somebody whose service does not count what he wants: the service's choice holds for all who ask it, so that all
  /// show the same. Nil if it counts that.
  func hint(besideService activity: EventRecord.Activity) -> String? {
    let lacks = [
      counts.contains(.tcp) && activity.connections == nil ? "TCP connections" : nil,
      counts.contains(.udp) && activity.datagrams == nil ? "UDP" : nil,
    ].compactMap(\.self)
    guard !lacks.isEmpty else { return nil }
    return
      "the service does not count \(lacks.joined(separator: " and ")); start it with --activity \(counts.text), or add "
      + "--no-service here"
  }
}
