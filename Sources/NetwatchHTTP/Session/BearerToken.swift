import FoundationEssentials

/// A bearer token, which identifies a user to a server (RFC 6750), and the date on which it expires.
public struct BearerToken: Hashable, Sendable {
  /// The text of the token, without the word `Bearer`.
  public let value: String
  /// The date on which the token expires. Nil if it is not known; a response with status 401 then shows that the token has
  /// expired.
  public let expiration: Date?

  /// Creates a token.
  ///
  /// - Parameters:
  ///   - value: The text of the token, without the word `Bearer`.
  ///   - expiration: The date on which the token expires. Default: nil, not known.
  public init(_ value: String, expiration: Date? = nil) {
    self.value = value
    self.expiration = expiration
  }
}
