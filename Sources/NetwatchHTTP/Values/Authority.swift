import HTTPTypes
import Netwatch
import NetwatchIDNA

/// The host and the port of a URL in ASCII, without a user or a password: the form that libcurl gets.
struct Authority: Hashable, Sendable {
  /// The name or the address of the host. An IPv6 address is in brackets.
  let host: String
  /// The port. Nil if the URL names none.
  let port: Int?

  var text: String { port.map { "\(host):\($0)" } ?? host }

  /// - Parameter host: The host in ASCII, as ``ascii(host:)`` returns it.
  init(_ host: String, _ port: Int) {
    self.host = host
    self.port = port
  }

  /// - Returns: Nil for text that libcurl could read differently: with a user, a second colon, a slash or a space.
  init?(_ text: String) {
    let end = text.hasPrefix("[") ? text.firstIndex(of: "]").map { text.index(after: $0) } : text.firstIndex(of: ":")
    guard let host = Self.ascii(host: String(text[..<(end ?? text.endIndex)])) else { return nil }
    let rest = text[(end ?? text.endIndex)...]
    self.host = host
    guard !rest.isEmpty, rest != ":" else {
      port = nil
      return
    }
    let digits = rest.utf8.dropFirst()
    guard rest.utf8.first == UInt8(ascii: ":"), digits.allSatisfy({ 48...57 ~= $0 }), let port = Int(rest.dropFirst()),
      1...65_535 ~= port
    else { return nil }
    self.port = port
  }

  /// Returns the name or the address in ASCII: `bücher.example` becomes `xn--bcher-kva.example`.
  ///
  /// - Parameter host: The host. Its letters may be percent-encoded, as FoundationEssentials writes an international name.
  /// - Returns: Nil for text that is not a host.
  static func ascii(host: String) -> String? {
    if host.hasPrefix("[") { return isAddress(host.utf8) ? host : nil }
    guard !host.isEmpty else { return nil }
    if host.utf8.allSatisfy(isPlain) { return host }
    guard let name = host[...].percentDecoded, !name.isEmpty else { return nil }
    if name.utf8.allSatisfy({ $0 < 0x80 }) { return name.utf8.allSatisfy(isPlain) ? name : nil }
    guard let ascii = try? IDNA.ascii(name), ascii.utf8.allSatisfy(isPlain) else { return nil }
    // IDNA maps digits of other scripts to ASCII digits, which could turn a name into an address.
    let last = ascii.split(separator: ".").last ?? ""
    return last.isEmpty || last.utf8.allSatisfy({ 48...57 ~= $0 }) || last.hasPrefix("0x") ? nil : ascii
  }

  /// Whether the text in brackets can be an IPv6 address, with or without a zone.
  private static func isAddress(_ text: String.UTF8View) -> Bool {
    text.count > 3 && text.last == UInt8(ascii: "]")
      && text.dropFirst().dropLast().allSatisfy { isPlain($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "%") }
  }

  /// Whether the byte is an unreserved character of RFC 3986. Names of hosts have no other characters.
  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }
}

/// A scheme, a host and a port (RFC 6454 §4). Secrets between a client and a server stay within one origin.
struct Origin: Hashable, Sendable {
  private let scheme: String
  private let host: String
  private let port: Int

  /// Nil for a request without a valid http or https URL, which libcurl never gets.
  init?(_ request: HTTPRequest) {
    guard let scheme = request.scheme?.lowercased(), scheme == "https" || scheme == "http",
      let authority = request.authority.flatMap(Authority.init)
    else { return nil }
    self.scheme = scheme
    host = authority.host.lowercased()
    port = authority.port ?? (scheme == "https" ? 443 : 80)
  }
}

extension HTTPRequest {
  /// Whether both requests go to the same origin. False if one of them has no valid origin.
  func isSameOrigin(as other: HTTPRequest) -> Bool {
    if authority == other.authority, scheme == other.scheme { return true }
    guard let origin = Origin(self), let other = Origin(other) else { return false }
    return origin == other
  }
}
