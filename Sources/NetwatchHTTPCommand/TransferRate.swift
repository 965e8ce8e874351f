import Netwatch

/// The rate of bytes in the last seconds. Pure: the time is an argument.
struct TransferRate {
  private static let window = Duration.seconds(5)
  /// The shortest time from which a rate is calculated. A rate from less time would be random.
  private static let least = Duration.milliseconds(200)

  private var samples: [(received: Int64, at: Duration)] = []
  var sampleCount: Int { samples.count }

  /// - Parameter received: The received bytes of the file. The number is lower than before if the file is begun again.
  mutating func note(_ received: Int64, at now: Duration) {
    if let last = samples.last, received < last.received { samples = [] }
    samples.append((received, now))
    // The oldest sample is as old as the window, or a little older.
    if let first = samples.firstIndex(where: { $0.at > now - Self.window }), first > 1 {
      samples.removeFirst(first - 1)
    }
  }

  /// The rate in bytes per second; nil if it is too early to calculate it.
  var bytesPerSecond: Double? {
    guard let first = samples.first, let last = samples.last, last.at - first.at >= Self.least else { return nil }
    return Double(last.received - first.received) / ((last.at - first.at) / .seconds(1))
  }

  /// Returns the time that the rest will take; nil if it cannot be estimated.
  func timeLeft(of total: Int64?) -> Duration? {
    guard let total, let last = samples.last, let rate = bytesPerSecond, rate >= 1 else { return nil }
    return .seconds(Double(max(0, total - last.received)) / rate).asDelay
  }
}
