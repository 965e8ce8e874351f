import HTTPTypes

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

/// One challenge of a `WWW-Authenticate` field (RFC 9110 §11.6.1): one way to authenticate that a server offers.
public struct AuthenticationOffer: Hashable, Sendable {
  /// The authentication scheme in lower case, such as `basic` or `digest`.
  public let scheme: String
  /// The parameters of the challenge, such as `realm`, by their names in lower case. If a name appears twice, the first value
  /// counts.
  public let parameters: [String: String]
  /// The token that some schemes, such as `negotiate`, send instead of parameters (`token68` in RFC 9110). Nil if there is
  /// none.
  public let token: String?

  /// The realm: the part of the server that the credentials are for. Nil if the server does not name it.
  public var realm: String? { parameters["realm"] }

  /// Returns the challenges in a field. A field can hold several challenges, with commas between them and between their
  /// parameters.
  ///
  /// - Returns: The challenges that were read before the first mistake.
  static func list(in field: String) -> [AuthenticationOffer] {
    var reader = Reader(rest: Array(field.utf8)[...])
    var offers: [AuthenticationOffer] = []
    while let offer = reader.offer() { offers.append(offer) }
    return offers
  }

  /// Reads a field from its beginning to its end.
  private struct Reader {
    var rest: ArraySlice<UInt8>

    mutating func offer() -> AuthenticationOffer? {
      skip(" \t,")
      guard let scheme = word(\.isOfToken) else { return nil }
      var parameters: [String: String] = [:]
      var token: String?
      // A scheme with parameters or a token is followed by one or more spaces.
      if rest.first == UInt8(ascii: " ") {
        skip(" \t")
        token = token68()
        if token == nil {
          while let (name, value) = parameter() { parameters[name] = parameters[name] ?? value }
        }
      }
      return AuthenticationOffer(scheme: scheme.lowercased(), parameters: parameters, token: token)
    }

    /// Returns nil, and reads nothing, at the next scheme and at the end of the field.
    private mutating func parameter() -> (String, String)? {
      let start = rest
      skip(" \t,")
      guard let name = word(\.isOfToken) else { return revert(to: start) }
      skip(" \t")
      guard rest.first == UInt8(ascii: "=") else { return revert(to: start) }
      rest.removeFirst()
      skip(" \t")
      guard let value = rest.first == UInt8(ascii: "\"") ? quoted() : word(\.isOfToken) else {
        rest = []
        return nil
      }
      return (name.lowercased(), value)
    }

    /// Reads letters, digits and `-._~+/`, then any number of `=`. Only a comma or the end of the field may follow.
    private mutating func token68() -> String? {
      let start = rest
      guard var text = word({ $0.isAlphanumeric || "-._~+/".utf8.contains($0) }) else { return nil }
      while rest.first == UInt8(ascii: "=") {
        rest.removeFirst()
        text += "="
      }
      skip(" \t")
      guard rest.isEmpty || rest.first == UInt8(ascii: ",") else { return revert(to: start) }
      return text
    }

    private mutating func quoted() -> String? {
      var bytes: [UInt8] = []
      rest.removeFirst()
      while let byte = rest.popFirst() {
        switch byte {
        case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
        case UInt8(ascii: "\\"): if let next = rest.popFirst() { bytes.append(next) }
        default: bytes.append(byte)
        }
      }
      return nil
    }

    private mutating func revert<Value>(to start: ArraySlice<UInt8>) -> Value? {
      rest = start
      return nil
    }

    private mutating func skip(_ characters: StaticString) {
      rest = rest.drop { byte in "\(characters)".utf8.contains(byte) }
    }

    private mutating func word(_ isPart: (UInt8) -> Bool) -> String? {
      let word = rest.prefix(while: isPart)
      rest = rest.dropFirst(word.count)
      return word.isEmpty ? nil : String(decoding: word, as: UTF8.self)
    }
  }
}

extension HTTPCredential: CustomStringConvertible {
  /// The user and the scheme, such as `ali (digest)`. The password is left out, so that no log gets it.
  public var description: String {
    if case .negotiate = scheme { return "the user's ticket (negotiate)" }
    return "\(user.sanitizedForTerminal) (\(scheme))"
  }
}
