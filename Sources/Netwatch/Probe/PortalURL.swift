/// The address of a login page that answers in place of the internet, as something in between has sent it.
///
/// It has http or https, a host, no user or password, and nothing but visible ASCII in it, so a line, a terminal and an argument of
/// a program bear it.
public struct PortalURL: Hashable, Sendable, CustomStringConvertible {
  /// As long as browsers take; RFC 9110 asks for 8,000 at least.
  private static let longest = 8_192

  public let description: String
  /// The host, in lower case and without brackets.
  public let host: String

  /// - Returns: nil for anything that is no such address.
  public init?(_ text: String) {
    guard text.utf8.count <= Self.longest, text.utf8.allSatisfy({ 0x21..<0x7f ~= $0 }),
      let scheme = ["http://", "https://"].first(where: { text.lowercased().hasPrefix($0) })
    else { return nil }
    let authority = text.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
    // Who shows a user and a password in front of the host wants people to take them for the host. Browsers take a \ for a /.
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
