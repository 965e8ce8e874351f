import FoundationEssentials

/// What a server knows its user by (RFC 6750), and until when.
public struct BearerToken: Hashable, Sendable {
  /// The token, as it stands behind `Bearer`.
  public let value: String
  /// When the token ends. Nil if that is not known: then a 401 tells.
  public let expiration: Date?

  public init(_ value: String, expiration: Date? = nil) {
    self.value = value
    self.expiration = expiration
  }
}
