/// An interceptor's decision about what follows a failed attempt.
public enum RetryDecision: Sendable {
  /// Another attempt is made after this time, counted from now. The task is not active while it waits. Default: at once.
  case retry(after: Duration = .zero)
  /// The next interceptor decides. If there is none, the task fails with the attempt's error, or ends with its response.
  case next
  /// The task fails with this error.
  case fail(HTTPError)
}
