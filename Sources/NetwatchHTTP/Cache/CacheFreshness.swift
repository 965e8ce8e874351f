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
