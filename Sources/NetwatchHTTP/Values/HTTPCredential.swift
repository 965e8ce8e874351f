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
