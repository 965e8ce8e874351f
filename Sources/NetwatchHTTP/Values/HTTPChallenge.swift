import HTTPTypes

/// A server's demand for authentication: a response with the status 401.
public struct HTTPChallenge: Sendable {
  /// The request that was refused. After a redirect, it can go to another host than the task's request: check it before you
  /// return a credential.
  public let request: HTTPRequest
  /// The head of the response that refuses the request.
  public let response: HTTPResponse
  /// The number of credentials from the task's callback that this origin has already refused.
  public let failures: Int

  /// The ways to authenticate that the server offers, in the order of its `WWW-Authenticate` fields.
  public var offers: [AuthenticationOffer] {
    response.headerFields[values: .wwwAuthenticate].flatMap { AuthenticationOffer.list(in: $0) }
  }

  /// The first realm that the server names. Nil if it names none.
  public var realm: String? { offers.lazy.compactMap(\.realm).first }
}
