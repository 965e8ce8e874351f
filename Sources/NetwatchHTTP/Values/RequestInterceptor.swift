import HTTPTypes

/// Changes the requests of a session before they are sent, and decides whether a failed one is tried again.
///
/// ``BearerTokenInterceptor`` and ``RetryInterceptor`` are ready-made ones. The interceptors of a call come first, then those of
/// the session, each list in its order: ``HTTPTaskOptions/interceptors``, ``HTTPSessionConfiguration/interceptors``.
public protocol RequestInterceptor: Sendable {
  /// Returns the request that is sent. Called before the first attempt, and before each one that an interceptor has asked for;
  /// not for redirects. The default returns the request unchanged.
  ///
  /// - Parameters:
  ///   - request: The request of the task, as the interceptors before this one have changed it.
  ///   - task: The task that the request is for.
  /// - Throws: The error that the task fails with. Nothing is sent.
  func adapt(_ request: HTTPRequest, for task: HTTPTaskInfo) async throws(HTTPError) -> HTTPRequest

  /// Decides what follows a failed attempt: one that has brought no whole response, or a status of 400 and above. The default
  /// leaves it to the next interceptor.
  ///
  /// It is not called for a request whose body cannot be sent again, after the end of ``HTTPTaskOptions/maximumRetries``, nor
  /// after the beginning of a body that goes to a file or a stream.
  func retry(_ failure: HTTPFailedAttempt) async -> RetryDecision
}

extension RequestInterceptor {
  public func adapt(_ request: HTTPRequest, for task: HTTPTaskInfo) async throws(HTTPError) -> HTTPRequest { request }
  public func retry(_ failure: HTTPFailedAttempt) async -> RetryDecision { .next }
}
