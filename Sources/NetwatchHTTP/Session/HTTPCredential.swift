import FoundationEssentials
import HTTPTypes

/// A name and a password. Never sent to another scheme, host or port than the request was made for.
public struct HTTPCredential: Hashable, Sendable {
  public enum Scheme: Hashable, Sendable {
    /// With the first request, unasked.
    case basic
    /// Once the server has asked for it.
    case digest
    /// What the server asks for, digest rather than basic.
    case any
  }

  public let user: String
  public let password: String
  public let scheme: Scheme

  public init(user: String, password: String, scheme: Scheme = .any) {
    self.user = user
    self.password = password
    self.scheme = scheme
  }
}

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
