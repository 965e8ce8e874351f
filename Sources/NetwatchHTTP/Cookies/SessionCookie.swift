import FoundationEssentials

/// A cookie of a session, as the session sends it to servers.
///
/// To keep cookies for the next run of a program, encode them. Decoding checks them as strictly as cookies from a server.
public struct SessionCookie: Hashable, Sendable {
  /// The name of the cookie.
  public let name: String
  /// The value of the cookie.
  public let value: String
  /// The domain of the cookie in lower case, without a leading dot.
  public let domain: String
  /// Whether the cookie is also sent to subdomains of ``domain``.
  public let includesSubdomains: Bool
  /// The path that requests must begin with to get the cookie. It begins with a slash.
  public let path: String
  /// Whether the cookie is only sent over https.
  public let isSecure: Bool
  /// Whether browsers would hide the cookie from the scripts of a page. It makes no difference to this library.
  public let isHTTPOnly: Bool
  /// The time at which the cookie expires, in whole seconds. Nil if it lasts as long as the session.
  public let expires: Date?

  /// Creates a cookie. Nil for a cookie that no server could set: without a name or domain, with control characters in a text, or
  /// with a semicolon in another text than the path.
  ///
  /// - Parameters:
  ///   - name: The name, without an equals sign.
  ///   - value: The value.
  ///   - domain: The domain. A leading dot is removed.
  ///   - includesSubdomains: Whether the cookie is also sent to subdomains. Default: false.
  ///   - path: The path, which begins with a slash. Default: `/`.
  ///   - isSecure: Whether the cookie is only sent over https. Default: false.
  ///   - isHTTPOnly: Whether browsers would hide the cookie from scripts. Default: false.
  ///   - expires: The time at which the cookie expires. Default: nil, at the end of the session.
  public init?(
    name: String, value: String, domain: String, includesSubdomains: Bool = false, path: String = "/",
    isSecure: Bool = false, isHTTPOnly: Bool = false, expires: Date? = nil
  ) {
    let domain = (domain.hasPrefix(".") ? String(domain.dropFirst()) : domain).lowercased()
    guard [name, value, domain].allSatisfy({ Self.isSound($0) && !$0.utf8.contains(UInt8(ascii: ";")) }),
      Self.isSound(path, most: Self.longestPath), path.utf8.first == UInt8(ascii: "/"),
      !name.isEmpty, !domain.isEmpty, !name.utf8.contains(UInt8(ascii: "=")), let second = Self.second(of: expires)
    else { return nil }
    self.name = name
    self.value = value
    self.domain = domain
    self.includesSubdomains = includesSubdomains
    self.path = path
    self.isSecure = isSecure
    self.isHTTPOnly = isHTTPOnly
    self.expires = second == 0 ? nil : Date(timeIntervalSince1970: Double(second))
  }

  /// Longer than the path of any request that servers take.
  private static let longestPath = 16_384

  private static func isSound(_ text: String, most: Int = 4_096) -> Bool {
    text.utf8.count <= most && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
  }

  /// The time in seconds since 1970. 0 for no date; nil for a date out of range.
  private static func second(of date: Date?) -> Int64? {
    guard let date else { return 0 }
    let seconds = date.timeIntervalSince1970
    return 1..<1e12 ~= seconds ? Int64(seconds) : nil
  }
}

/// The cookie as a line of Netscape's cookie file, as curl reads and writes it: seven fields separated by tabs.
extension SessionCookie {
  private static let httpOnlyMark = "#HttpOnly_"

  init?(line: String) {
    var fields = line.split(separator: "\t", maxSplits: 6, omittingEmptySubsequences: false).map(String.init)
    guard fields.count == 7, let expires = Int64(fields[4]) else { return nil }
    let isHTTPOnly = fields[0].hasPrefix(Self.httpOnlyMark)
    if isHTTPOnly { fields[0].removeFirst(Self.httpOnlyMark.count) }
    self.init(
      name: fields[5], value: fields[6], domain: fields[0], includesSubdomains: fields[1] == "TRUE", path: fields[2],
      isSecure: fields[3] == "TRUE", isHTTPOnly: isHTTPOnly,
      expires: expires == 0 ? nil : Date(timeIntervalSince1970: Double(expires)))
  }

  var line: String {
    func word(_ value: Bool) -> String { value ? "TRUE" : "FALSE" }
    let mark = isHTTPOnly ? Self.httpOnlyMark : ""
    return [
      mark + (includesSubdomains ? "." : "") + domain, word(includesSubdomains), path, word(isSecure),
      "\(Int64(expires?.timeIntervalSince1970 ?? 0))", name, value,
    ].joined(separator: "\t")
  }
}

extension SessionCookie: Codable {
  /// Creates a cookie from its encoded line.
  ///
  /// - Throws: `DecodingError` for text that is not a cookie which a server could set.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let cookie = SessionCookie(line: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "this is no cookie")
    }
    self = cookie
  }

  /// Encodes the cookie as a line of Netscape's cookie file.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(line)
  }
}

extension SessionCookie: CustomStringConvertible {
  /// The name, the domain and the path, such as `session for example.com/`. The value is left out, so that no log gets it.
  public var description: String {
    "\(name) for \(includesSubdomains ? "*." : "")\(domain)\(path)".sanitizedForTerminal
  }
}
