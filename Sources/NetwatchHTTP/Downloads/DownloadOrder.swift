/// Which of the requests that wait is the next.
public enum DownloadOrder: Hashable, Sendable {
  /// Each in its turn.
  case firstInFirstOut
  /// What was asked for last is what somebody looks at now.
  case lastInFirstOut
}
