import Netwatch
import NetwatchIDNA

/// The host and the port of a URL, as libcurl is given them: in ASCII, and without a user or a password.
struct Authority: Hashable, Sendable {
  /// An IPv6 address has its brackets.
  let host: String
  /// Nil if the URL names none.
  let port: Int?

  var text: String { port.map { "\(host):\($0)" } ?? host }

  /// - Parameter host: As ``ascii(host:)`` gives it.
  init(_ host: String, _ port: Int) {
    self.host = host
    self.port = port
  }

  /// - Returns: nil for what libcurl could read in another way than this does: a user, a second colon, a slash, a space.
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

  /// The name or the address in ASCII: `bücher.example` becomes `xn--bcher-kva.example`.
  ///
  /// - Parameter host: also with its letters percent-encoded, as FoundationEssentials writes an international name.
  /// - Returns: nil for what is no host.
  static func ascii(host: String) -> String? {
    if host.hasPrefix("[") { return isAddress(host.utf8) ? host : nil }
    guard !host.isEmpty else { return nil }
    if host.utf8.allSatisfy(isPlain) { return host }
    guard let name = host[...].percentDecoded, !name.isEmpty else { return nil }
    if name.utf8.allSatisfy({ $0 < 0x80 }) { return name.utf8.allSatisfy(isPlain) ? name : nil }
    guard let ascii = try? IDNA.ascii(name), ascii.utf8.allSatisfy(isPlain) else { return nil }
    // Letters of other scripts become digits, and a name would become an address.
    let last = ascii.split(separator: ".").last ?? ""
    return last.isEmpty || last.utf8.allSatisfy({ 48...57 ~= $0 }) || last.hasPrefix("0x") ? nil : ascii
  }

  /// Within brackets: an IPv6 address, and perhaps its link.
  private static func isAddress(_ text: String.UTF8View) -> Bool {
    text.count > 3 && text.last == UInt8(ascii: "]")
      && text.dropFirst().dropLast().allSatisfy { isPlain($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "%") }
  }

  /// RFC 3986's unreserved characters: no other ones are in the names of hosts.
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
