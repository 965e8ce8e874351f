import FoundationEssentials
import HTTPTypes

/// What the cache of a session has to do with one attempt. Belongs to the loop.
final class CacheExchange {
  private enum State { case looking, due, over }
  /// What is delivered in the place of the server's answer.
  typealias Delivery = (response: HTTPResponse, body: CachedAnswer?, use: HTTPCacheUse)

  let cache: HTTPDiskCache
  /// As the server sees it: the fields that libcurl adds may select an answer.
  let request: HTTPRequest
  /// Whether the cache may answer the request at all, and store its answer.
  let isCacheable: Bool
  /// An answer to a credential that does not stand in the request's fields may differ from that to another one.
  private let hasCredential: Bool
  private let onCaching: (@Sendable (HTTPRequest, HTTPResponse) -> HTTPResponse?)?
  private var state = State.over
  /// Answers the request.
  private var stored: CachedAnswer?
  /// The cache may keep an answer to the request.
  private var hasOlder = true
  /// What the server was asked to say of ``stored``.
  private var conditions: HTTPFields?
  private var asked: Int64 = 0
  private(set) var delivery: Delivery?
  /// The server does not know what was found. The next attempt does not look again: the cache may be unable to remove it.
  private(set) var isUseless = false
  /// Of the body on its way to the cache; nil for one that is not stored.
  var writer: CacheWriter?

  init(
    _ cache: HTTPDiskCache, _ request: HTTPRequest, hasBody: Bool, hasCredential: Bool,
    onCaching: (@Sendable (HTTPRequest, HTTPResponse) -> HTTPResponse?)?
  ) {
    self.cache = cache
    self.request = request
    self.hasCredential = hasCredential
    self.onCaching = onCaching
    isCacheable = !hasBody && CacheFreshness.mayBeAnswered(request)
  }

  /// In seconds since 1970.
  static var now: Int64 { Int64(max(0, min(Date().timeIntervalSince1970, Double(StoredAnswer.mostSeconds - 1)))) }

  // MARK: Before the request is sent

  /// The cache has answered, and nobody has looked at that.
  var isDue: Bool { state == .due }

  /// ``found(_:)`` follows.
  ///
  /// - Returns: The URL to be looked for; nil if there is nothing to look for.
  func beginLookup(_ policy: HTTPCachePolicy) -> String? {
    guard isCacheable, policy != .ignoresCache, let url = request.urlText else { return nil }
    state = .looking
    return url
  }

  /// Whether an answer that is kept for the URL answers the request.
  var isWanted: @Sendable (StoredAnswer) -> Bool {
    { [request, hasCredential] in !Self.isAmbiguous($0, hasCredential) && $0.answers(request) }
  }

  func found(_ answer: CachedAnswer?) {
    guard state == .looking else { return }
    state = .due
    hasOlder = answer != nil
    stored = answer
  }

  /// - Returns: The fields to be added to the request; nil if ``delivery`` is the answer.
  func decide(_ policy: HTTPCachePolicy) -> HTTPFields? {
    state = .over
    let now = Self.now
    switch CacheDecision(on: request, stored?.answer, policy, at: now) {
    case .use: if let stored { deliver(stored.answer.answer(at: now), .hit) }
    case .fail: delivery = (HTTPResponse(status: .gatewayTimeout, headerFields: [.contentLength: "0"]), nil, .miss)
    case .validate(let fields): conditions = fields
    case .load: break
    }
    asked = now
    return delivery == nil ? conditions ?? [:] : nil
  }

  private func deliver(_ response: HTTPResponse, _ use: HTTPCacheUse) {
    delivery = (response, request.method == .head ? nil : stored, use)
  }

  private static func isAmbiguous(_ answer: StoredAnswer, _ hasCredential: Bool) -> Bool {
    hasCredential && answer.selectingFields["authorization"] != nil
  }

  // MARK: After the server's answer

  /// - Returns: Whether ``delivery`` takes the place of the answer; the request has to be sent again if there is none.
  func isReplaced(_ response: HTTPResponse) -> Bool {
    guard delivery == nil, let stored else { return false }
    if conditions != nil, response.status == .notModified {
      let now = Self.now
      if let refreshed = stored.answer.refreshed(by: response, asked: asked, came: now, asStored) {
        cache.replaceHead(of: stored, by: refreshed)
        deliver(refreshed.answer(at: now), .validated)
      } else {
        cache.remove([stored.answer.url])
        isUseless = true
      }
      return true
    }
    return CacheDecision.errors.contains(response.status.code) && standIn()
  }

  /// - Returns: Whether ``delivery`` takes the place of an answer that does not come.
  func standIn() -> Bool {
    let now = Self.now
    guard delivery == nil, let stored, stored.answer.mayStandIn(for: request, at: now) else { return false }
    deliver(stored.answer.answer(at: now), .stale)
    return true
  }

  /// Begins to store an answer that is delivered, if it may be. One that may not be leaves no older one behind.
  func store(_ response: HTTPResponse) {
    guard delivery == nil else { return }
    let changed = CacheDecision.invalidated(by: request, response)
    if !changed.isEmpty { return cache.remove(changed) }
    guard isCacheable else { return }
    let now = Self.now
    if request.method == .head { return refresh(byHead: response, now) }
    let answer = asStored(response).flatMap { StoredAnswer(request, $0, asked: asked, came: now) }
    if let answer, !Self.isAmbiguous(answer, hasCredential) {
      writer = cache.store(answer)
    } else if hasOlder, response.status.kind != .serverError, let url = request.urlText {
      cache.remove([url])
    }
  }

  /// Nil for what the caller does not want to be stored.
  private func asStored(_ response: HTTPResponse) -> HTTPResponse? {
    guard let onCaching else { return response }
    return onCaching(request, response)
  }

  private func refresh(byHead response: HTTPResponse, _ now: Int64) {
    guard let stored, response.status.kind != .serverError else { return }
    if let refreshed = stored.answer.refreshed(byHead: response, asked: asked, came: now, asStored) {
      cache.replaceHead(of: stored, by: refreshed)
    } else {
      cache.remove([stored.answer.url])
    }
  }
}
