import Netwatch

/// How fast bytes have come in the last seconds. Pure: time comes in as an argument.
struct TransferRate {
  private static let window = Duration.seconds(5)
  /// A rate of less time would be chance.
  private static let least = Duration.milliseconds(200)

  private var samples: [(received: Int64, at: Duration)] = []
  var sampleCount: Int { samples.count }

  /// - Parameter received: what of the file has come; less than before where it is begun anew.
  mutating func note(_ received: Int64, at now: Duration) {
    if let last = samples.last, received < last.received { samples = [] }
    samples.append((received, now))
    // The oldest one is as old as the window, or a little older.
    if let first = samples.firstIndex(where: { $0.at > now - Self.window }), first > 1 {
      samples.removeFirst(first - 1)
    }
  }

  /// Nil where it is too early to say.
  var bytesPerSecond: Double? {
    guard let first = samples.first, let last = samples.last, last.at - first.at >= Self.least else { return nil }
    return Double(last.received - first.received) / ((last.at - first.at) / .seconds(1))
  }

  /// How long the rest will take; nil where nobody knows.
  func timeLeft(of total: Int64?) -> Duration? {
    guard let total, let last = samples.last, let rate = bytesPerSecond, rate >= 1 else { return nil }
    return .seconds(Double(max(0, total - last.received)) / rate).asDelay
  }
}
