import HTTPTypes

/// An attempt that has failed, or whose response has a status of 400 and above.
public struct HTTPFailedAttempt: Sendable {
  /// The task that the attempt belongs to.
  public let task: HTTPTaskInfo
  /// The request that was sent: after redirects, another one than the task's.
  public let request: HTTPRequest
  /// The head of the response. Nil if there is none.
  public let response: HTTPResponse?
  /// What the attempt has failed with. Nil if it has brought a response.
  public let error: HTTPError?
  /// The attempts that the interceptor that is asked has asked for before. The first failure of a task has 0.
  public internal(set) var retries: Int
}
