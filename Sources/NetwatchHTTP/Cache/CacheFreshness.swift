import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// How long a response may be used again, and how its server is asked whether it still may be. By RFC 9111, for a cache that
/// one program has for itself; where a server says nothing of time, it is asked.
struct CacheFreshness: Hashable, Sendable {
  /// A time as `now` of the initializer.
  let freshUntil: Duration
  /// When the server has made the response, as far as it is known.
  private let made: Duration
  let entityTag: String?
  let lastModified: String?

  /// Nil for what may not be kept.
  ///
  /// - Parameters:
  ///   - now: when the response had come.
  ///   - delay: since it was asked for.
  init?(_ request: HTTPRequest, _ response: HTTPResponse, at now: Duration, delay: Duration) {
    let fields = response.headerFields
    let control = CacheControl(fields[.cacheControl] ?? "")
    guard Self.isCacheable(request), response.status == .ok, !control.isNotToBeStored, !Self.varies(fields[.vary])
    else {
      return nil
    }
    entityTag = fields[.eTag]
    lastModified = fields[.lastModified]
    let age = CacheControl.seconds(fields[.age] ?? "") ?? 0
    let lifetime = control.isNeverFresh ? 0 : control.maximumAge ?? Self.lifetimeByDate(fields)
    freshUntil = now + .seconds(max(lifetime - age, 0)) - delay
    made = now - .seconds(age) - delay
  }

  /// Of what no server has said anything about.
  init(lifetime: Duration, from now: Duration) {
    freshUntil = now + lifetime.asDelay
    made = now
    (entityTag, lastModified) = (nil, nil)
  }

  func isFresh(at now: Duration) -> Bool { now < freshUntil }

  /// Whether a request may be answered without its server: what the request itself says comes first (RFC 9111 §5.2.1).
  ///
  /// - Parameter isAged: whether the response may be older than its server allows.
  func mayAnswer(_ request: HTTPRequest, at now: Duration, isAged: Bool) -> Bool {
    let control = CacheControl(of: request)
    let isYoung = control.maximumAge.map { now - made < .seconds($0) } ?? true
    return !control.isNeverFresh && isYoung && (isAged || isFresh(at: now))
  }

  /// What asks the server whether it is still the same; nil where it cannot be asked.
  var conditions: HTTPFields? {
    var fields = HTTPFields()
    fields[.ifNoneMatch] = entityTag
    fields[.ifModifiedSince] = lastModified
    return fields.isEmpty ? nil : fields
  }

  /// Whether an answer can come from a cache, and be kept in it. A request for a part, or with conditions, is its caller's own.
  static func isCacheable(_ request: HTTPRequest) -> Bool { request.method == .get && mayBeAnswered(request) }

  /// Whether an answer can come from a cache. What is kept for a GET answers a HEAD, too.
  static func mayBeAnswered(_ request: HTTPRequest) -> Bool {
    let own: [HTTPField.Name] = [.range, .ifRange, .ifMatch, .ifNoneMatch, .ifModifiedSince, .ifUnmodifiedSince]
    return [.get, .head].contains(request.method) && !own.contains { request.headerFields.contains($0) }
      && !CacheControl(of: request).isNotToBeStored
  }

  private static func lifetimeByDate(_ fields: HTTPFields) -> Int64 {
    guard let expires = fields[.expires].flatMap(CivilTime.init(httpDate:)),
      let date = fields[.date].flatMap(CivilTime.init(httpDate:))
    else { return 0 }
    return max(expires.secondsSince1970 - date.secondsSince1970, 0)
  }

  /// What depends on a field of the request depends on its key. Cookies do not stand there, and `*` is anything.
  private static func varies(_ vary: String?) -> Bool {
    (vary ?? "").lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.contains { $0 == "*" || $0 == "cookie" }
  }
}
