import FoundationEssentials

/// A cookie, as a session sends it back to its servers.
///
/// To keep cookies for the next start of a program, encode them: what they say is decoded as carefully as a server's words.
public struct SessionCookie: Hashable, Sendable {
  public let name: String
  public let value: String
  /// Lower case, without a dot before it.
  public let domain: String
  /// Whether hosts beneath ``domain`` get it, too.
  public let includesSubdomains: Bool
  /// Begins with a slash.
  public let path: String
  /// Whether it is sent by https alone.
  public let isSecure: Bool
  /// Whether a page's scripts would not be shown it; to this library it makes no difference.
  public let isHTTPOnly: Bool
  /// To the second. Nil: it goes with the session.
  public let expires: Date?

  /// Nil for what no server could have set: no name or domain, control characters or a semicolon in any of the texts.
  public init?(
    name: String, value: String, domain: String, includesSubdomains: Bool = false, path: String = "/",
    isSecure: Bool = false, isHTTPOnly: Bool = false, expires: Date? = nil
  ) {
    let domain = (domain.hasPrefix(".") ? String(domain.dropFirst()) : domain).lowercased()
    guard [name, value, domain, path].allSatisfy(Self.isSound), !name.isEmpty, !domain.isEmpty, path.hasPrefix("/"),
      !name.contains("="), let second = Self.second(of: expires)
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

  private static func isSound(_ text: String) -> Bool {
    text.utf8.count <= 4_096 && text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f && $0 != UInt8(ascii: ";") }
  }

  /// 0 for none; nil for what no clock will say.
  private static func second(of date: Date?) -> Int64? {
    guard let date else { return 0 }
    let seconds = date.timeIntervalSince1970
    return 1..<1e12 ~= seconds ? Int64(seconds) : nil
  }
}

/// As a line of Netscape's cookie file, which is what libcurl reads and writes: seven fields between tabs.
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
  /// - Throws: for what no server could have set.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let cookie = SessionCookie(line: try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "this is no cookie")
    }
    self = cookie
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(line)
  }
}
