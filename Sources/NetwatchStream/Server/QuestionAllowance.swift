import Netwatch

/// How often clients may cause a question to a driver: eight times in a second. Any user may be a client, and the service waits
/// for the answer. Pure.
struct QuestionAllowance {
  private static let questions = 8
  private static let period = Duration.seconds(1)

  private var periodEnd = Duration.zero
  private var asked = 0

  /// The time of the next question, if none is allowed now.
  var next: Duration { periodEnd }

  /// Counts a question.
  ///
  /// - Returns: Whether it is allowed now.
  mutating func take(at now: Duration) -> Bool {
    if now >= periodEnd { (periodEnd, asked) = (now + Self.period, 0) }
    guard asked < Self.questions else { return false }
    asked += 1
    return true
  }
}
