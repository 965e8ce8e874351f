import Netwatch

/// A token bucket: work may cost a number of tokens per second, and at most one second's tokens are kept for a burst. Work may cost
/// more than is there; then nothing is allowed until the debt is paid. Pure.
struct RateLimit {
  private static let burst = Duration.seconds(1)

  private let timePerToken: Duration
  /// The time at which the bucket is full.
  private var fullTime = Duration.zero

  /// Creates a full bucket that gets this many tokens per second; at least one.
  init(perSecond tokens: Int) { timePerToken = Self.burst / max(1, tokens) }

  /// Whether the bucket is full.
  func isFull(at now: Duration) -> Bool { fullTime <= now }

  /// Whether there is a token.
  func allows(at now: Duration) -> Bool { now >= next }

  /// The time from which there is a token.
  var next: Duration { fullTime + timePerToken - Self.burst }

  /// Takes tokens out of the bucket.
  mutating func take(_ tokens: Int = 1, at now: Duration) { fullTime = max(fullTime, now) + timePerToken * tokens }
}
