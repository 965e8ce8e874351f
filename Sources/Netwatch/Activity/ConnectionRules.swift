/// The rules for what counts as in flight and how often to scan. The defaults were found by measurement.
package struct ConnectionRules: Hashable, Sendable {
  /// The time between two scans. Default: 0.5 seconds.
  package var interval: Duration = .milliseconds(500)
  /// The time after which a wait without a byte is not a request any more but a long poll, or the other side is gone.
  /// Default: 30 seconds.
  package var patience: Duration = .seconds(30)
  /// When nothing was in flight for this long, scans are half as frequent. Default: 60 seconds.
  package var restsAfter: Duration = .seconds(60)

  package init() {}

  /// A response counts for this long after its last byte, because nothing tells which byte is the last. In nanoseconds.
  static let quiet: Int64 = 200_000_000
  /// A request in flight may pause for this long, as a throttled response does. In nanoseconds.
  static let lull: Int64 = 450_000_000
  /// A response that is known to come in bursts may pause for this long: nginx sends once a second. In nanoseconds.
  static let pause: Int64 = 1_250_000_000
  /// At most this many bytes each way on a resting connection are no request: pings, the keys and echoes of a shell.
  static let smallTalk: UInt64 = 512
  /// A scan that has to be over when the indicator decides begins this much earlier. In nanoseconds.
  static let lead: Int64 = 20_000_000
}
