/// A user name and a password, or the ticket of the user. They are only sent to the scheme, host and port that they are meant for.
public struct HTTPCredential: Hashable, Sendable {
  /// The authentication schemes that a credential can be used with.
  public enum Scheme: Hashable, Sendable {
    /// Basic authentication: the credential is sent at once, before the server asks for it.
    case basic
    /// Digest authentication: the credential is used after the server has asked for it.
    case digest
    /// The scheme that the server asks for. Digest is preferred to basic.
    case any
    /// The Kerberos ticket of this user (SPNEGO; RFC 4559): see ``HTTPCredential/negotiate``.
    case negotiate
  }

  /// The Kerberos ticket of the user who runs the program, instead of a name and a password. A server that asks for `Negotiate` gets
  /// it.
  ///
  /// It needs a libcurl with GSS-API; Debian's has it. With another one, a task fails with `badConfiguration`. Without a ticket, the
  /// refusal of the server is the response.
  public static let negotiate = HTTPCredential(user: "", password: "", scheme: .negotiate)

  /// The name of the user.
  public let user: String
  /// The password of the user.
  public let password: String
  /// The authentication scheme to use.
  public let scheme: Scheme

  /// Creates a credential.
  ///
  /// - Parameters:
  ///   - user: The name of the user.
  ///   - password: The password of the user.
  ///   - scheme: The authentication scheme to use. Default: `any`, the one that the server asks for.
  public init(user: String, password: String, scheme: Scheme = .any) {
    self.user = user
    self.password = password
    self.scheme = scheme
  }
}
