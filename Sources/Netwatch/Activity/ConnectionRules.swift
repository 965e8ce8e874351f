/// What counts as in flight, and how often to scan. The defaults are measured ones.
package struct ConnectionRules: Hashable, Sendable {
  /// Between two scans.
  package var interval: Duration = .milliseconds(500)
  /// What waits for longer without a byte is no request but a long poll, or the other side is gone.
  package var patience: Duration = .seconds(30)
  /// When nothing was in flight for so long, scans come half as often.
  package var restsAfter: Duration = .seconds(60)

  package init() {}

  /// An answer counts for so long after its last byte: nothing says that it was the last.
  static let quiet: Int64 = 200_000_000
  /// Once in flight it may pause for so long, as a throttled answer does.
  static let lull: Int64 = 450_000_000
  /// An answer that has been seen to come in bursts may pause for so long: nginx sends once a second.
  static let pause: Int64 = 1_250_000_000
  /// So few bytes each way on a connection at rest are no request: pings, the keys and echoes of a shell.
  static let smallTalk: UInt64 = 512
  /// A scan that has to be over when the indicator decides begins so much earlier.
  static let lead: Int64 = 20_000_000
}
