import FoundationEssentials
import HTTPTypes
import NetwatchEventLoop

/// The head of an answer that a cache keeps, and what RFC 9111 says of it. Pure. All times are seconds since 1970.
struct StoredAnswer: Hashable, Sendable {
  /// Section 4.2.2 leaves it to the cache, and suggests a tenth of the time since the last change.
  private static let heuristicPart: Int64 = 10
  /// A guess is not trusted for longer than a day.
  private static let mostByHeuristic: Int64 = 86_400
  /// A later time than any clock will say: sums of two are no problem.
  static let mostSeconds: Int64 = 1 << 40
  /// RFC 9110, section 15.1, without 206, which is never stored.
  private static let heuristicStatuses: Set<Int> = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]
  /// A part, an answer to a condition, and what depends on credentials that do not stand in the request.
  private static let neverStored: Set<Int> = [206, 304, 401, 407]
  /// Of one connection (RFC 9111, section 3.1).
  private static let ofConnection: [String] = [
    "connection", "proxy-connection", "keep-alive", "te", "transfer-encoding", "upgrade", "proxy-authenticate",
    "proxy-authentication-info", "proxy-authorization",
  ]

  /// Without a fragment.
  let url: String
  /// Of the request: hashes of the fields that the answer depends on, by their lower-case names. A field may be a secret.
  let selectingFields: [String: [String]]
  /// As it came, without the fields of its connection.
  let response: HTTPResponse
  /// When it was asked for.
  let asked: Int64
  /// When it has come.
  let came: Int64

  /// For what was read from a file, and may be anything. Nil for times that no clock says.
  init?(
    url: String, selectingFields: [String: [String]], response: HTTPResponse, asked: Int64, came: Int64
  ) {
    guard 0..<Self.mostSeconds ~= asked, 0..<Self.mostSeconds ~= came else { return nil }
    self.url = url
    self.selectingFields = selectingFields
    self.response = response
    self.asked = asked
    self.came = came
  }

  /// Nil for what may not be stored (section 3).
  ///
  /// - Parameter request: As it was sent.
  init?(_ request: HTTPRequest, _ response: HTTPResponse, asked: Int64, came: Int64) {
    guard let url = request.urlText, CacheFreshness.isCacheable(request), Self.mayStore(response) else { return nil }
    self.init(
      url: url, selectingFields: Self.selectingFields(of: request, Self.varyingNames(response)),
      response: Self.withoutConnection(response), asked: min(asked, came), came: came)
  }

  private static func mayStore(_ response: HTTPResponse) -> Bool {
    let (code, fields) = (response.status.code, response.headerFields)
    let control = CacheControl(fields[.cacheControl] ?? "")
    let isUnderstood = heuristicStatuses.contains(code)
    guard 200..<600 ~= code, !neverStored.contains(code), isUnderstood || !control.mustBeUnderstood else {
      return false
    }
    // `must-understand` comes with a `no-store` for caches that do not know it (section 5.2.2.3).
    guard !control.isNotToBeStored || control.mustBeUnderstood else { return false }
    let names = varyingNames(response)
    // Cookies do not stand in the request: libcurl adds them.
    guard !names.contains("*"), !names.contains("cookie") else { return false }
    return isUnderstood || control.isPublic || control.isPrivate || control.maximumAge != nil
      || fields[.expires] != nil
  }

  // MARK: Selection (section 4.1)

  private static func varyingNames(_ response: HTTPResponse) -> Set<String> {
    let vary = (response.headerFields[.vary] ?? "").lowercased()
    return Set(vary.split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init))
  }

  /// `Accept-Encoding` is always among them: with one of its own, a request gets its answer as the server sends it, and
  /// decompressed without.
  private static func selectingFields(of request: HTTPRequest, _ names: Set<String>) -> [String: [String]] {
    var fields: [String: [String]] = [:]
    for name in names.union(["accept-encoding"]) {
      let values = HTTPField.Name(name).map { request.headerFields[values: $0] } ?? []
      fields[name] = values.map { Data($0.utf8).sha256.base64EncodedString() }
    }
    return fields
  }

  /// Whether it is an answer to the request at all.
  func answers(_ request: HTTPRequest) -> Bool {
    request.urlText == url
      && selectingFields == Self.selectingFields(of: request, Set(selectingFields.keys))
  }

  /// Whether there is a request that both answer: then the newer one counts.
  func overlaps(_ other: StoredAnswer) -> Bool {
    selectingFields.allSatisfy { name, values in other.selectingFields[name].map { $0 == values } ?? true }
  }

  // MARK: Freshness (section 4.2)

  private var control: CacheControl { CacheControl(response.headerFields[.cacheControl] ?? "") }
  private var date: Int64 { Self.time(response.headerFields[.date]) ?? came }

  private static func time(_ text: String?) -> Int64? { text.flatMap(CivilTime.init(httpDate:))?.secondsSince1970 }

  /// How old it is, by the rules of section 4.2.3. Nil if the clock was set back since it came, and nobody knows.
  func age(at now: Int64) -> Int64? {
    guard now >= came else { return nil }
    let apparent = max(came - date, 0)
    let corrected = (CacheControl.seconds(response.headerFields[.age] ?? "") ?? 0) + (came - asked)
    return max(apparent, corrected) + (now - came)
  }

  /// For how long its server lets it be used, from when it was made.
  var lifetime: Int64 {
    if let age = control.maximumAge { return age }
    let fields = response.headerFields
    // Anything but a date is in the past, "0" above all (section 5.3).
    if let expires = fields[.expires] { return max((Self.time(expires) ?? 0) - date, 0) }
    guard Self.heuristicStatuses.contains(response.status.code) || control.isPublic,
      let changed = Self.time(fields[.lastModified])
    else { return 0 }
    return min(max(date - changed, 0) / Self.heuristicPart, Self.mostByHeuristic)
  }

  /// Whether it may be used without a word from its server, and what the request says to that (section 5.2.1).
  func isUsable(_ request: CacheControl, at now: Int64) -> Bool {
    guard !control.isNeverFresh, isYoungEnough(request, at: now), let age = age(at: now) else { return false }
    let freshness = lifetime - age
    if freshness > 0 { return freshness >= request.leastFreshness ?? 0 }
    guard request.leastFreshness == nil, !control.mustBeRevalidated, let most = request.mostStaleness else {
      return false
    }
    return -freshness <= most
  }

  /// Whether it is not older than the request allows, however old its server lets it be.
  func isYoungEnough(_ request: CacheControl, at now: Int64) -> Bool {
    guard !request.isNeverFresh else { return false }
    guard let most = request.maximumAge else { return true }
    return age(at: now).map { $0 <= most } ?? false
  }

  /// Whether it may stand in for a server that cannot be reached, or answers with one of ``CacheDecision/errors``
  /// (RFC 5861, section 4).
  func mayStandIn(for request: HTTPRequest, at now: Int64) -> Bool {
    let wish = CacheControl(of: request)
    guard CacheFreshness.mayBeAnswered(request), answers(request), !wish.isNeverFresh, !control.isNeverFresh,
      !control.mustBeRevalidated, let age = age(at: now)
    else { return false }
    let most = [control.stalenessOnError, wish.stalenessOnError].compactMap { $0 }.max()
    return most.map { age - lifetime <= $0 } ?? false
  }

  /// The answer that is delivered from the cache: with its age (section 5.1).
  func answer(at now: Int64) -> HTTPResponse {
    var response = response
    response.headerFields[.age] = "\(age(at: now) ?? 0)"
    return response
  }

  // MARK: Validation (section 4.3)

  /// The fields that ask the server whether it may still be used. Nil if the server has sent nothing to ask with.
  var conditions: HTTPFields? {
    var fields = HTTPFields()
    fields[.ifNoneMatch] = response.headerFields[.eTag]
    fields[.ifModifiedSince] = response.headerFields[.lastModified]
    return fields.isEmpty ? nil : fields
  }

  /// What it becomes by a 304 (section 4.3.4). Nil if that is about another answer: then this one is worth nothing.
  ///
  /// - Parameter change: What is done to the new response before it is stored; nil for one that is not stored.
  func refreshed(
    by notModified: HTTPResponse, asked: Int64, came: Int64, _ change: (HTTPResponse) -> HTTPResponse? = { $0 }
  ) -> StoredAnswer? {
    guard hasValidators(of: notModified) else { return nil }
    return change(response.refreshed(by: notModified)).flatMap { with($0, asked, came) }
  }

  /// What it becomes by the answer to a HEAD (section 4.3.5). Nil if the resource has changed since.
  func refreshed(
    byHead head: HTTPResponse, asked: Int64, came: Int64, _ change: (HTTPResponse) -> HTTPResponse? = { $0 }
  ) -> StoredAnswer? {
    guard head.status == response.status, hasValidators(of: head),
      head.headerFields[.contentLength].map({ $0 == response.headerFields[.contentLength] }) ?? true
    else { return nil }
    return change(response.refreshed(by: head)).flatMap { with($0, asked, came) }
  }

  private func with(_ response: HTTPResponse, _ asked: Int64, _ came: Int64) -> StoredAnswer? {
    guard Self.mayStore(response) else { return nil }
    return StoredAnswer(
      url: url, selectingFields: selectingFields, response: Self.withoutConnection(response),
      asked: min(asked, came), came: came)
  }

  /// Those that are missing agree with all.
  private func hasValidators(of other: HTTPResponse) -> Bool {
    let (own, its) = (response.headerFields, other.headerFields)
    if let tag = its[.eTag] { return own[.eTag].map { Self.opaque($0) == Self.opaque(tag) } ?? false }
    return its[.lastModified].map { $0 == own[.lastModified] } ?? true
  }

  /// A weak comparison (RFC 9110, section 8.8.3.2).
  private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

  private static func withoutConnection(_ response: HTTPResponse) -> HTTPResponse {
    let named = (response.headerFields[.connection] ?? "").lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }
    var response = response
    for name in (named.map(String.init) + ofConnection).compactMap({ HTTPField.Name($0) }) {
      response.headerFields[name] = nil
    }
    return response
  }
}
