import HTTPTypes

/// A server wants to know who asks.
public struct HTTPChallenge: Sendable {
  /// The request that was refused. After a redirect it goes to another host than the task's: look before you answer.
  public let request: HTTPRequest
  public let response: HTTPResponse
  /// How many credentials of the task's callback this origin has refused already.
  public let failures: Int

  /// The ways to authenticate that the server offers, in the order of its `WWW-Authenticate` fields.
  public var offers: [AuthenticationOffer] {
    response.headerFields[values: .wwwAuthenticate].flatMap { AuthenticationOffer.list(in: $0) }
  }

  /// The first realm that the server names.
  public var realm: String? { offers.lazy.compactMap(\.realm).first }
}
