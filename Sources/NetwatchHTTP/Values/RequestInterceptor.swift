import HTTPTypes

/// An interceptor changes the requests of a session before they are sent, and decides whether a failed one is tried again.
///
/// ``BearerTokenInterceptor`` and ``RetryInterceptor`` are ready-made interceptors. Those of a call
/// (``HTTPTaskOptions/interceptors``) run before those of the session (``HTTPSessionConfiguration/interceptors``), each list in
/// its order.
public protocol RequestInterceptor: Sendable {
  /// Returns the request to send. The default returns the request unchanged.
  ///
  /// It is called before the first attempt, before each attempt that an interceptor has asked for, and before the attempt that
  /// follows a wait for a path. It is not called for redirects.
  ///
  /// - Parameters:
  ///   - request: The request of the task, as the earlier interceptors have changed it.
  ///   - task: The task that the request is for.
  /// - Throws: The error that the task fails with. Nothing is sent.
  func adapt(_ request: HTTPRequest, for task: HTTPTaskInfo) async throws(HTTPError) -> HTTPRequest

  /// Decides what follows a failed attempt: one without a complete response, or with a status of 400 or above. The default
  /// leaves the decision to the next interceptor.
  ///
  /// It is not called if the request's body cannot be sent again, after ``HTTPTaskOptions/maximumRetries`` attempts, or once the
  /// response body of a download or a stream has begun to arrive. A resumable download asks also then, and its next attempt requests
  /// the rest.
  func retry(_ failure: HTTPFailedAttempt) async -> RetryDecision
}

extension RequestInterceptor {
  /// Returns the request unchanged.
  public func adapt(_ request: HTTPRequest, for task: HTTPTaskInfo) async throws(HTTPError) -> HTTPRequest { request }
  /// Leaves the decision to the next interceptor.
  public func retry(_ failure: HTTPFailedAttempt) async -> RetryDecision { .next }
}

extension [any RequestInterceptor] {
  /// The decision of an interceptor, and its index in the list. If none of them decides, it is `next`.
  typealias Answer = (decision: RetryDecision, interceptor: Int)

  /// Asks each interceptor for the request of an attempt.
  func adapt(_ request: HTTPRequest, for task: HTTPTaskInfo) async -> Result<HTTPRequest, HTTPError> {
    do throws(HTTPError) {
      var request = request
      for interceptor in self { request = try await interceptor.adapt(request, for: task) }
      return .success(request)
    } catch {
      return .failure(error)
    }
  }

  /// Asks one interceptor after the other what follows a failed attempt.
  ///
  /// - Parameter retries: The number of attempts that each has asked for, by its index.
  func retry(_ failure: HTTPFailedAttempt, after retries: [Int: Int]) async -> Answer {
    for (index, interceptor) in enumerated() {
      var failure = failure
      failure.retries = retries[index] ?? 0
      let decision = await interceptor.retry(failure)
      if case .next = decision { continue }
      return (decision, index)
    }
    return (.next, 0)
  }
}

/// An interceptor's decision about what follows a failed attempt.
public enum RetryDecision: Sendable {
  /// Another attempt is made after this time, counted from now. The task is not active while it waits. Default: at once.
  case retry(after: Duration = .zero)
  /// The next interceptor decides. If there is none, the task fails with the attempt's error, or ends with its response.
  case next
  /// The task fails with this error.
  case fail(HTTPError)
}
