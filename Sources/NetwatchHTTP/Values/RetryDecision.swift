/// What follows a failed attempt.
public enum RetryDecision: Sendable {
  /// Another attempt is made after this time, which counts from now. While it waits, the task is not active.
  case retry(after: Duration = .zero)
  /// The next interceptor decides. If there is none, the failure is that of the task, and a response is its response.
  case next
  /// The task fails with this error.
  case fail(HTTPError)
}
