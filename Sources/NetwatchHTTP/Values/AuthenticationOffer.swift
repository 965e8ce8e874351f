/// One challenge of a `WWW-Authenticate` field (RFC 9110 §11.6.1): a way to authenticate that a server offers.
public struct AuthenticationOffer: Hashable, Sendable {
  /// The scheme in lower case, such as `basic` or `digest`.
  public let scheme: String
  /// The parameters by their names in lower case, such as `realm`. Of two with one name, the first.
  public let parameters: [String: String]
  /// What some schemes have in the place of parameters, such as `negotiate`. Nil if there is none.
  public let token: String?

  /// The part of the server that the credentials are for; nil if the server does not name it.
  public var realm: String? { parameters["realm"] }

  /// All that a field offers. A field holds several challenges, with commas between them and between their parameters.
  ///
  /// - Returns: what was read before the first mistake.
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
      // One space or more follow a scheme that has anything to say.
      if rest.first == UInt8(ascii: " ") {
        skip(" \t")
        token = token68()
        if token == nil {
          while let (name, value) = parameter() { parameters[name] = parameters[name] ?? value }
        }
      }
      return AuthenticationOffer(scheme: scheme.lowercased(), parameters: parameters, token: token)
    }

    /// Nil, and nothing was read, at the next scheme and at the end.
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

    /// Letters, digits and a few others, then `=` in any number, and nothing but a comma or the end behind them.
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
