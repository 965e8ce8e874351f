import HTTPTypes

/// A server sends a request elsewhere.
public struct HTTPRedirect: Sendable {
  /// The request that was answered.
  public let request: HTTPRequest
  public let response: HTTPResponse
  /// What would be sent next; without credentials where it goes to another scheme, host or port.
  public let next: HTTPRequest
  /// The redirects that were followed before.
  public let count: Int
}
