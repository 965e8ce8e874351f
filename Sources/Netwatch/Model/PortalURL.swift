/// The address of a captive portal's login page, as the portal has sent it.
///
/// The scheme is http or https. The address has a host, no user or password, and only visible ASCII characters. It can safely
/// be printed to a line or terminal and passed to a program as an argument.
public struct PortalURL: Hashable, Sendable, CustomStringConvertible {
  /// The length that browsers accept; RFC 9110 asks for at least 8,000.
  private static let longest = 8_192

  /// The address as text.
  public let description: String
  /// The host, in lower case and without brackets.
  public let host: String
  /// The number of bytes of the scheme and the authority.
  private let authorityEnd: Int

  /// Reads an address. Nil if the text is no address of a login page.
  public init?(_ text: String) {
    guard text.utf8.count <= Self.longest, text.utf8.allSatisfy({ 0x21..<0x7f ~= $0 }),
      let scheme = ["http://", "https://"].first(where: { text.lowercased().hasPrefix($0) })
    else { return nil }
    let authority = text.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
    // Text before an @ looks like the host and is none: https://bank.example@192.0.2.1 leads to 192.0.2.1. Browsers read a \ as
    // a /.
    guard !authority.contains("@"), !authority.contains("\\") else { return nil }
    let host: Substring
    if authority.hasPrefix("[") {
      guard let end = authority.firstIndex(of: "]") else { return nil }
      host = authority[authority.index(after: authority.startIndex)..<end]
    } else {
      host = authority.prefix { $0 != ":" }
    }
    guard !host.isEmpty else { return nil }
    description = text
    self.host = host.lowercased()
    authorityEnd = scheme.utf8.count + authority.utf8.count
  }

  /// Whether the scheme is https.
  public var isSecure: Bool { description.utf8.dropFirst(4).first.map { $0 | 0x20 == UInt8(ascii: "s") } ?? false }

  /// The address for a browser: each character that RFC 3986 does not allow at its place is written as `%` and two hexadecimal
  /// digits. Existing escapes stay as they are.
  ///
  /// `$`, `'`, `(` and `)` are allowed there, but are written in the same way, because they have a meaning for a shell: xdg-open
  /// is a shell script, and has evaluated its argument before (CVE-2014-9622).
  package var encoded: String {
    let bytes = Array(description.utf8).percentEncoded { position, byte in
      switch byte {
      // Brackets enclose an address in the authority only.
      case UInt8(ascii: "["), UInt8(ascii: "]"): position < authorityEnd
      default: Self.allowed.contains(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The characters that stay as they are anywhere in an address, by RFC 3986, sections 2.2 and 2.3.
  private static let allowed = Set(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?@!&*+,;=".utf8)
}
