import FoundationEssentials
import HTTPTypes

/// The part of a session's cache in one attempt. Belongs to the loop.
final class CacheTransaction {
  private enum State { case looking, due, over }
  /// The response that is delivered instead of the server's.
  typealias Delivery = (response: HTTPResponse, body: CachedAnswer?, use: HTTPCacheUse)

  /// The errors of a server that cannot be reached, or of a path that is lost. A stored response may take the place of one that does
  /// not come.
  private static let standInKinds: Set<HTTPError.Kind> = [
    .notResolved, .cannotConnect, .connectionLost, .timedOut, .pathLost,
  ]

  let cache: HTTPDiskCache
  /// The request as the server gets it. The fields that libcurl adds may select a response in the cache.
  let request: HTTPRequest
  /// Whether the cache may answer the request at all, and store its answer.
  let isCacheable: Bool
  /// Whether a credential is sent that is not in the request's fields. A response may depend on it.
  private let hasCredential: Bool
  private let onCaching: (@Sendable (HTTPRequest, HTTPResponse) -> HTTPResponse?)?
  private var state = State.over
  /// The stored response that answers the request; nil if there is none.
  private var stored: CachedAnswer?
  /// Whether the cache may have a response to the request.
  private var hasOlder = true
  /// The conditions that were added to the request, so that the server validates ``stored``.
  private var conditions: HTTPFields?
  private var asked: Int64 = 0
  /// The number of removals from the cache when the request was sent. What was removed later must not come back.
  private var removalCount: UInt64 = 0
  private(set) var delivery: Delivery?
  /// Whether the server's 304 cannot refresh ``stored``. The next attempt then does not look into the cache, which may be
  /// unable to remove the response.
  private(set) var isUseless = false
  /// Writes the body to the cache; nil if it is not stored.
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

  /// The current time, in seconds since 1970.
  static var now: Int64 { Int64(max(0, min(Date().timeIntervalSince1970, Double(StoredAnswer.mostSeconds - 1)))) }

  // MARK: Before the request is sent

  /// Whether the cache has answered and ``decide(_:)`` has to follow.
  var isDue: Bool { state == .due }

  /// Begins to look into the cache. ``found(_:)`` follows.
  ///
  /// - Returns: The URL to look up; nil if there is nothing to look up.
  func beginLookup(_ policy: HTTPCachePolicy) -> String? {
    guard isCacheable, !policy.ignoresStored, let url = request.urlText else { return nil }
    state = .looking
    return url
  }

  /// Returns whether a response that is stored for the URL answers the request.
  var isWanted: @Sendable (StoredAnswer) -> Bool {
    { [request, hasCredential] in !Self.isAmbiguous($0, hasCredential) && $0.answers(request) }
  }

  func found(_ answer: CachedAnswer?) {
    guard state == .looking else { return }
    state = .due
    hasOlder = answer != nil
    stored = answer
  }

  /// Decides what follows after the cache has answered.
  ///
  /// - Returns: The fields to add to the request; nil if ``delivery`` is the response.
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
    removalCount = cache.removalCount
    return delivery == nil ? conditions ?? [:] : nil
  }

  private func deliver(_ response: HTTPResponse, _ use: HTTPCacheUse) {
    delivery = (response, request.method == .head ? nil : stored, use)
  }

  private static func isAmbiguous(_ answer: StoredAnswer, _ hasCredential: Bool) -> Bool {
    hasCredential && answer.selectingFields["authorization"] != nil
  }

  // MARK: After the server's answer

  /// Decides whether the cache replaces the server's response.
  ///
  /// - Returns: Whether it is replaced by ``delivery``. If that is nil, the request has to be sent again.
  func isReplaced(_ response: HTTPResponse) -> Bool {
    guard delivery == nil, let stored else { return false }
    if conditions != nil, response.status == .notModified {
      let now = Self.now
      if let refreshed = stored.answer.refreshed(by: response, asked: asked, came: now, asStored) {
        replaceHead(of: stored, by: refreshed)
        deliver(refreshed.answer(at: now), .validated)
      } else {
        cache.remove([stored.answer.url])
        isUseless = true
      }
      return true
    }
    return CacheDecision.errors.contains(response.status.code) && standIn()
  }

  /// Uses the stored response instead of one that does not come, if HTTP allows it.
  ///
  /// - Returns: Whether ``delivery`` has the stored response.
  func standIn() -> Bool {
    let now = Self.now
    guard delivery == nil, let stored, stored.answer.mayStandIn(for: request, at: now) else { return false }
    deliver(stored.answer.answer(at: now), .stale)
    return true
  }

  /// Uses the stored response instead of one that does not come for this reason, if HTTP allows it.
  ///
  /// - Returns: Whether ``delivery`` has the stored response.
  func standIn(for failure: HTTPError) -> Bool { Self.standInKinds.contains(failure.kind) && standIn() }

  private func replaceHead(of stored: CachedAnswer, by refreshed: StoredAnswer) {
    if !cache.hasRemoved(stored.answer.url, since: removalCount) { cache.replaceHead(of: stored, by: refreshed) }
  }

  /// Removes what a request has changed at the server (RFC 9111, section 4.4). To be called for each response, also for one that
  /// another request follows.
  func invalidate(by response: HTTPResponse) {
    guard delivery == nil else { return }
    let changed = CacheDecision.invalidated(by: request, response)
    if !changed.isEmpty { cache.remove(changed) }
  }

  /// Begins to store a delivered response, if that is allowed. If it is not, an older stored response is removed.
  func store(_ response: HTTPResponse) {
    guard delivery == nil, isCacheable else { return }
    let now = Self.now
    if request.method == .head { return refresh(byHead: response, now) }
    let answer = asStored(response).flatMap { StoredAnswer(request, $0, asked: asked, came: now) }
    if let answer, !Self.isAmbiguous(answer, hasCredential) {
      guard !cache.hasRemoved(answer.url, since: removalCount) else { return }
      writer = cache.store(answer)
    } else if hasOlder, response.status.kind != .serverError, let url = request.urlText {
      cache.remove([url])
    }
  }

  /// Returns the response to be stored. Nil if the caller does not want to store it.
  private func asStored(_ response: HTTPResponse) -> HTTPResponse? {
    guard let onCaching else { return response }
    return onCaching(request, response)
  }

  private func refresh(byHead response: HTTPResponse, _ now: Int64) {
    guard let stored, response.status.kind != .serverError else { return }
    if let refreshed = stored.answer.refreshed(byHead: response, asked: asked, came: now, asStored) {
      replaceHead(of: stored, by: refreshed)
    } else {
      cache.remove([stored.answer.url])
    }
  }
}

/// A transport that delivers a response from a cache.
struct CachedTransport: HTTPTransport {
  let response: HTTPResponse
  /// The stored response; nil for a response without a body.
  let answer: CachedAnswer?

  func send(_ request: HTTPRequest, body: HTTPBody?) async throws(HTTPError) -> HTTPTransportAnswer {
    HTTPTransportAnswer(response.status, headerFields: response.headerFields, parts: Parts(answer: answer))
  }

  private struct Parts: AsyncSequence, Sendable {
    let answer: CachedAnswer?

    func makeAsyncIterator() -> Iterator { Iterator(answer: answer) }

    struct Iterator: AsyncIteratorProtocol {
      private static let size = 64 * 1_024

      let answer: CachedAnswer?
      private var position: Int64 = 0

      init(answer: CachedAnswer?) { self.answer = answer }

      /// - Throws: `fileFailed` if the file was truncated after it was found.
      mutating func next() async throws(HTTPError) -> Data? {
        guard let answer, position < answer.bodyCount else { return nil }
        var part = Data(count: Int(Swift.min(Int64(Self.size), answer.bodyCount - position)))
        let start = position
        let read = unsafe part.withUnsafeMutableBytes { room -> Result<Int, HTTPError> in
          do throws(HTTPError) {
            return .success(try unsafe answer.read(into: room, at: start))
          } catch {
            return .failure(error)
          }
        }
        let count = try read.get()
        guard count > 0 else {
          throw HTTPError(.fileFailed, "read \(answer.answer.url)", message: "the file in the cache was cut")
        }
        position += Int64(count)
        return part.prefix(count)
      }
    }
  }
}
