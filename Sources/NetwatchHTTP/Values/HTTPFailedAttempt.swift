import HTTPTypes

/// A failed attempt to send a request: it ended with an error, or with a status of 400 or above.
public struct HTTPFailedAttempt: Sendable {
  /// The task that the attempt belongs to.
  public let task: HTTPTaskInfo
  /// The request that was sent. After redirects, it differs from the request of the task.
  public let request: HTTPRequest
  /// The head of the response. Nil if there is none.
  public let response: HTTPResponse?
  /// The error of the attempt. Nil if the attempt has brought a response.
  public let error: HTTPError?
  /// The number of attempts that the interceptor has already asked for. 0 at the first failure of a task.
  public internal(set) var retries: Int
}
