import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// The time for which a response may be reused, and the fields that ask its server whether it is still valid. By RFC 9111, for
/// a private cache of one program. If a server sends no time, it is asked each time.
struct CacheFreshness: Hashable, Sendable {
  /// The time until which the response is fresh, on the clock of the initializer's `now`.
  let freshUntil: Duration
  /// The time at which the server has made the response, as far as it is known.
  private let made: Duration
  let entityTag: String?
  let lastModified: String?

  /// Nil for a response that must not be kept.
  ///
  /// - Parameters:
  ///   - now: The time at which the response arrived.
  ///   - delay: The time from the request to the response.
  init?(_ request: HTTPRequest, _ response: HTTPResponse, at now: Duration, delay: Duration) {
    let fields = response.headerFields
    let control = CacheControl(fields[.cacheControl] ?? "")
    guard Self.isCacheable(request), response.status == .ok, !control.isNotToBeStored, !Self.varies(fields[.vary])
    else {
      return nil
    }
    entityTag = fields.singleValue(.eTag)
    lastModified = fields.singleValue(.lastModified)
    let age = CacheControl.seconds(fields.singleValue(.age) ?? "") ?? 0
    let lifetime = control.isNeverFresh ? 0 : control.maximumAge ?? Self.lifetimeByDate(fields)
    freshUntil = now + .seconds(max(lifetime - age, 0)) - delay
    made = now - .seconds(age) - delay
  }

  /// Creates a given lifetime, for a response without information from a server.
  init(lifetime: Duration, from now: Duration) {
    freshUntil = now + lifetime.asDelay
    made = now
    (entityTag, lastModified) = (nil, nil)
  }

  func isFresh(at now: Duration) -> Bool { now < freshUntil }

  /// Whether the response may answer a request without the server. The directives of the request come first (RFC 9111 §5.2.1).
  ///
  /// - Parameter isAged: Whether the response may be older than its server allows.
  func mayAnswer(_ request: HTTPRequest, at now: Duration, isAged: Bool) -> Bool {
    let control = CacheControl(of: request)
    let isYoung = control.maximumAge.map { now - made < .seconds($0) } ?? true
    return !control.isNeverFresh && isYoung && (isAged || isFresh(at: now))
  }

  /// The fields that ask the server whether the response is still valid. Nil if the server has sent nothing to ask with.
  var conditions: HTTPFields? {
    var fields = HTTPFields()
    fields[.ifNoneMatch] = entityTag
    fields[.ifModifiedSince] = lastModified
    return fields.isEmpty ? nil : fields
  }

  /// Whether an answer to the request can come from a cache and be kept in it. A request for a part, or with its own
  /// conditions, bypasses the cache.
  static func isCacheable(_ request: HTTPRequest) -> Bool { request.method == .get && mayBeAnswered(request) }

  /// Whether an answer to the request can come from a cache. An answer that is kept for a GET also answers a HEAD.
  static func mayBeAnswered(_ request: HTTPRequest) -> Bool {
    let own: [HTTPField.Name] = [.range, .ifRange, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince]
    return [.get, .head].contains(request.method) && !own.contains { request.headerFields.contains($0) }
      && !CacheControl(of: request).isNotToBeStored
  }

  private static func lifetimeByDate(_ fields: HTTPFields) -> Int64 {
    guard let expires = fields.singleValue(.expires).flatMap(CivilTime.init(httpDate:)),
      let date = fields.singleValue(.date).flatMap(CivilTime.init(httpDate:))
    else { return 0 }
    return max(expires.secondsSince1970 - date.secondsSince1970, 0)
  }

  /// Whether the response depends on more than its key contains. The key contains the request's fields, but not cookies, and
  /// `*` means anything.
  private static func varies(_ vary: String?) -> Bool {
    (vary ?? "").lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.contains { $0 == "*" || $0 == "cookie" }
  }
}

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
