import HTTPTypes

/// What a `Cache-Control` says to a cache in one program, in a response or in a request (RFC 9111, section 5.2).
///
/// `s-maxage` and `proxy-revalidate` are for caches that several users share.
struct CacheControl: Hashable, Sendable {
  private(set) var isNotToBeStored = false
  /// The server is to be asked each time.
  private(set) var isNeverFresh = false
  /// In seconds. Of two, the shorter; 0 for what is no number.
  private(set) var maximumAge: Int64?
  /// For one user alone.
  private(set) var isPrivate = false
  /// For everybody, also where credentials were asked for.
  private(set) var isPublic = false
  /// Once it is not fresh any more, the server has to be asked, and nothing stands in for its answer.
  private(set) var mustBeRevalidated = false
  /// Only a cache that knows the status of the response may keep it.
  private(set) var mustBeUnderstood = false
  /// Of a request, in seconds: how much longer the response has to be fresh. Of two, the longer.
  private(set) var leastFreshness: Int64?
  /// Of a request, in seconds: how long the response may have been stale. The largest number there is, for any time.
  private(set) var mostStaleness: Int64?
  /// Of a request that is not to go to its server.
  private(set) var wantsCacheAlone = false
  /// In seconds: how long a stale response may stand in for an error (RFC 5861, section 4).
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

  /// What a request says: in `Pragma` as well, if it has no `Cache-Control` (RFC 9111 §5.4).
  init(of request: HTTPRequest) {
    let pragma = HTTPField.Name("Pragma").flatMap { request.headerFields[$0] }
    self.init(request.headerFields[.cacheControl] ?? pragma ?? "")
  }

  /// Nil for anything but digits. The largest there is, is more than a century.
  static func seconds(_ text: some StringProtocol) -> Int64? {
    let digits = trimmed(text).utf8.filter { $0 != UInt8(ascii: "\"") }
    guard !digits.isEmpty, digits.allSatisfy({ 48...57 ~= $0 }) else { return nil }
    return digits.reduce(0) { min($0 * 10 + Int64($1 - 48), 1 << 32) }
  }

  /// A comma in quotes is no end.
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
