import HTTPTypes

/// The decision of a cache about a request. Pure: RFC 9111, for a cache that belongs to one user.
enum CacheDecision: Hashable, Sendable {
  /// Return the stored answer.
  case use
  /// Ask the server whether the stored answer may still be used, with these fields added to the request.
  case validate(HTTPFields)
  /// Ask the server as if there were no cache.
  case load
  /// Return 504 (section 5.2.1.7): there is no usable answer, and the server must not be asked.
  case fail

  /// - Parameters:
  ///   - stored: The stored answer for the request's URL. Nil if there is none.
  ///   - now: The time in seconds since 1970.
  init(on request: HTTPRequest, _ stored: StoredAnswer?, _ policy: HTTPCachePolicy, at now: Int64) {
    let control = CacheControl(of: request)
    let decision = Self.decide(request, stored, policy, control, now)
    let mayLoad = policy != .requiresCache && !control.wantsCacheAlone
    self =
      switch decision {
      case .use, .fail: decision
      case .validate, .load: mayLoad ? decision : .fail
      }
  }

  private static func decide(
    _ request: HTTPRequest, _ stored: StoredAnswer?, _ policy: HTTPCachePolicy, _ control: CacheControl, _ now: Int64
  ) -> CacheDecision {
    guard !policy.ignoresStored, let stored, CacheFreshness.mayBeAnswered(request), stored.answers(request) else {
      return .load
    }
    let isUsable =
      switch policy {
      case .standard: stored.isUsable(control, at: now)
      case .prefersCache, .requiresCache: stored.isYoungEnough(control, at: now)
      case .ignoresCache, .ignoresAllCaches, .revalidates: false
      }
    if isUsable { return .use }
    // The answer to a HEAD has no body that could be kept.
    guard request.method == .get, let conditions = stored.conditions else { return .load }
    return .validate(conditions)
  }

  /// Status codes of a failing server, which a stale answer may replace (RFC 5861, section 4).
  static let errors: Set<Int> = [500, 502, 503, 504]

  /// Returns the URLs whose stored answers must be removed because an unsafe request has changed their resource (RFC 9111,
  /// section 4.4). Only URLs of the request's own origin.
  static func invalidated(by request: HTTPRequest, _ response: HTTPResponse) -> [String] {
    let safe: [HTTPRequest.Method] = [.get, .head, .options, .trace]
    guard !safe.contains(request.method), 200..<400 ~= response.status.code, let url = request.urlText else {
      return []
    }
    let others = [HTTPField.Name.location, .contentLocation].compactMap { name in
      response.headerFields.singleValue(name).flatMap { request.sibling(at: $0) }
    }
    return [url] + others.filter { $0 != url }
  }
}
