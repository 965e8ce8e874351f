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

  /// Reads an address. Nil if the text is no address of a login page.
  public init?(_ text: String) {
    guard text.utf8.count <= Self.longest, text.utf8.allSatisfy({ 0x21..<0x7f ~= $0 }),
      let scheme = ["http://", "https://"].first(where: { text.lowercased().hasPrefix($0) })
    else { return nil }
    let authority = text.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
    // A user and password before the host are there to be taken for the host. Browsers read a \ as a /.
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
  }
}
