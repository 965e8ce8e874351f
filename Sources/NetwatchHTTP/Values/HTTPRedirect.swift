import HTTPTypes

/// A response that redirects a request to another URL.
public struct HTTPRedirect: Sendable {
  /// The request that the server has redirected.
  public let request: HTTPRequest
  /// The head of the response with the redirect.
  public let response: HTTPResponse
  /// The request that would be sent next. If it goes to another scheme, host or port, it has no credentials, except those of the
  /// session if that origin is one of ``HTTPSessionConfiguration/credentialOrigins``.
  public let next: HTTPRequest
  /// The number of redirects that the task has already followed.
  public let count: Int
}
