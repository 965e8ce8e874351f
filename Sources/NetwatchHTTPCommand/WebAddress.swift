import Netwatch

/// A URL from the command line, in parts. Secrets in it are separated from what is sent, printed or stored.
struct WebAddress: Hashable, Sendable {
  let isSecure: Bool
  /// The host, with its port if the URL has one.
  let host: String
  /// The user; nil if the URL has none.
  let user: String?
  let password: String?
  /// The URL without the user, the password and the fragment.
  let text: String
  /// The name after the last slash of the path; nil if it would be a surprising name for a file.
  let fileName: String?

  /// - Throws: A `PlainError` if the text is not a URL that `get` accepts. The error shows only parts that cannot be secret.
  init(_ text: String) throws(PlainError) {
    guard !text.isEmpty else { throw PlainError("Give the URL of a file.") }
    guard !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
      throw PlainError("The URL has a control character in it.")
    }
    guard let colon = text.firstRange(of: "://") else {
      throw PlainError("The URL has no scheme; write https:// or http:// before it.")
    }
    let scheme = text[..<colon.lowerBound].lowercased()
    guard scheme == "https" || scheme == "http" else {
      throw PlainError("get knows https:// and http://, and nothing else.")
    }
    let rest = text[colon.upperBound...]
    let end = rest.firstIndex { "/?#\\".contains($0) } ?? rest.endIndex
    let authority = rest[..<end]
    let at = authority.lastIndex(of: "@")
    host = try Self.host(String(authority[(at.map { authority.index(after: $0) } ?? authority.startIndex)...]))
    (user, password) = try at.map { at throws(PlainError) in try Self.login(authority[..<at]) } ?? (nil, nil)
    let place = rest[end...].prefix { $0 != "#" }
    isSecure = scheme == "https"
    self.text = "\(scheme)://\(host)\(place)"
    fileName = Self.fileName(String(place.prefix { $0 != "?" }))
  }

  private static func host(_ text: String) throws(PlainError) -> String {
    // An IPv6 address has colons itself, and is in brackets.
    let nameEnd = text.hasPrefix("[") ? text.firstIndex(of: "]").map(text.index(after:)) : text.firstIndex(of: ":")
    let name = text[..<(nameEnd ?? text.endIndex)]
    guard !name.isEmpty, !name.contains(where: { " \"<>\\^`{|}".contains($0) }), !name.hasPrefix("[") || nameEnd != nil
    else { throw PlainError("The URL has no host.") }
    let port = text[name.endIndex...]
    guard
      port.isEmpty || port.first == ":" && (1...65_535 ~= Int(port.dropFirst()) ?? 0) && port.dropFirst().first != "+"
    else { throw PlainError("The port of the URL is not a number from 1 to 65535.") }
    return text
  }

  private static func login(_ text: Substring) throws(PlainError) -> (String?, String?) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      .map { $0.percentDecoded }
    guard let user = parts[0], parts.count < 2 || parts[1] != nil else {
      throw PlainError("The user or the password in the URL is not encoded as it has to be, such as %40 for @.")
    }
    return (user, parts.count > 1 ? parts[1] : "")
  }

  private static func fileName(_ path: String) -> String? {
    guard let slash = path.lastIndex(of: "/"), let name = path[path.index(after: slash)...].percentDecoded,
      // Names of hidden files, of the folders . and .., and of partial downloads are refused.
      !name.isEmpty, !name.hasPrefix("."), name.utf8.count <= 255, !name.lowercased().contains(".netwatch-part")
    else { return nil }
    let isPlain = name.unicodeScalars.allSatisfy { scalar in
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned: false
      default: scalar != "/" && scalar != "\u{fffd}"
      }
    }
    return isPlain ? name : nil
  }
}
