import HTTPTypes

/// The directives of a `Cache-Control` field in a response or a request, for a cache in one program (RFC 9111, section 5.2).
///
/// `s-maxage` and `proxy-revalidate` are ignored, because they are for caches that several users share.
struct CacheControl: Hashable, Sendable {
  private(set) var isNotToBeStored = false
  /// Whether the server must be asked each time.
  private(set) var isNeverFresh = false
  /// The maximum age in seconds. The shortest if there are several; 0 if it is not a number.
  private(set) var maximumAge: Int64?
  /// Whether the response is for one user only.
  private(set) var isPrivate = false
  /// Whether the response is for everybody, even if credentials were required.
  private(set) var isPublic = false
  /// Whether a stale response must not be used without asking the server, even if the server fails.
  private(set) var mustBeRevalidated = false
  /// Whether only a cache that knows the status of the response may keep it.
  private(set) var mustBeUnderstood = false
  /// For a request: the seconds for which the response must remain fresh. The longest if there are several.
  private(set) var leastFreshness: Int64?
  /// For a request: the seconds for which the response may have been stale. The largest number means any time.
  private(set) var mostStaleness: Int64?
  /// For a request: whether it must not go to the server.
  private(set) var wantsCacheAlone = false
  /// The seconds for which a stale response may replace an error (RFC 5861, section 4).
  private(set) var stalenessOnError: Int64?

  init(_ text: String) {
    for directive in Self.directives(text) {
      let parts = directive.split(separator: "=", maxSplits: 1)
      let name = parts.first.map { Self.trimmed($0).lowercased() } ?? ""
      switch name {
      case "no-store": isNotToBeStored = true
      case "no-cache": isNeverFresh = true
      case "private": isPrivate = true
      case "public": isPublic = true
      case "must-revalidate": mustBeRevalidated = true
      case "must-understand": mustBeUnderstood = true
      case "only-if-cached": wantsCacheAlone = true
      case "max-age": maximumAge = min(Self.argument(parts) ?? 0, maximumAge ?? .max)
      case "min-fresh": leastFreshness = max(Self.argument(parts) ?? .max, leastFreshness ?? 0)
      case "max-stale": mostStaleness = min(parts.count == 1 ? .max : Self.argument(parts) ?? 0, mostStaleness ?? .max)
      case "stale-if-error": stalenessOnError = min(Self.argument(parts) ?? 0, stalenessOnError ?? .max)
      default: break
      }
    }
  }

  private static func argument(_ directive: [Substring]) -> Int64? {
    directive.count == 2 ? seconds(directive[1]) : nil
  }

  /// The directives of a request. If it has no `Cache-Control`, those of `Pragma` (RFC 9111 §5.4).
  init(of request: HTTPRequest) {
    let pragma = HTTPField.Name("Pragma").flatMap { request.headerFields[$0] }
    self.init(request.headerFields[.cacheControl] ?? pragma ?? "")
  }

  /// Returns the number of seconds. Nil for anything but digits. The largest result is more than a century.
  static func seconds(_ text: some StringProtocol) -> Int64? {
    let digits = trimmed(text).utf8.filter { $0 != UInt8(ascii: "\"") }
    guard !digits.isEmpty, digits.allSatisfy({ 48...57 ~= $0 }) else { return nil }
    return digits.reduce(0) { min($0 * 10 + Int64($1 - 48), 1 << 32) }
  }

  /// Splits at commas, except those in quotes.
  private static func directives(_ text: String) -> [Substring] {
    var isQuoted = false
    var isEscaped = false
    return text.split { character in
      defer { isEscaped = isQuoted && !isEscaped && character == "\\" }
      if character == "\"", !isEscaped { isQuoted.toggle() }
      return character == "," && !isQuoted
    }
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    var text = Substring(text)
    while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
    while let last = text.last, last == " " || last == "\t" { text.removeLast() }
    return String(text)
  }
}
