import Netwatch
import NetwatchNetlink
import NetwatchStream

/// The options of counting: `--activity` and the options that belong to it.
package struct ActivitySettings {
  /// The shortest interval. Shorter ones would only load the machine.
  static let shortestInterval = Duration.milliseconds(20)

  /// The kinds of activity that are counted. Default: announced requests.
  package var counts = ServiceIdentity.Counts.requests
  /// The rules for TCP connections, and the exclusions.
  package var connections = ConnectionCounter.Configuration()

  /// Creates the default settings.
  package init() {}

  /// Creates settings from options.
  ///
  /// - Parameters:
  ///   - counts: The kinds of activity that are counted.
  ///   - exclusions: The connections that do not count.
  ///   - interval: The time between two scans of TCP connections; nil for the default.
  ///   - patience: The time after which a waiting TCP connection counts as a long poll; nil for the default.
  ///   - dashes: The text before the names of options, as the user writes them.
  /// - Throws: A `PlainError` about options that do not fit together.
  package init(
    counts: ServiceIdentity.Counts, exclusions: [ConnectionExclusion], interval: Duration?, patience: Duration?,
    dashes: String
  ) throws(PlainError) {
    if !exclusions.isEmpty, counts.isDisjoint(with: [.tcp, .udp]) {
      throw PlainError("\(dashes)activity-ignore is about TCP connections and UDP; add \(dashes)activity tcp or udp.")
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

  /// Returns a sentence for users whose service does not count what they want; nil if it does. The service's settings apply to
  /// all its clients, so that all show the same.
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
