import CLibZ
import FoundationEssentials
import HTTPTypes
import NetwatchEventLoop

/// The head of an answer in a cache, and its evaluation by RFC 9111. Pure. All times are seconds since 1970.
struct StoredAnswer: Hashable, Sendable {
  /// Section 4.2.2 leaves the heuristic to the cache, and suggests a tenth of the time since the last change.
  private static let heuristicPart: Int64 = 10
  /// A heuristic lifetime is limited to one day.
  private static let mostByHeuristic: Int64 = 86_400
  /// Later than any real time, and small enough that the sum of two cannot overflow.
  static let mostSeconds: Int64 = 1 << 40
  /// The status codes of RFC 9110, section 15.1, without 206, which is never stored.
  private static let heuristicStatuses: Set<Int> = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]
  /// A part, an answer to a condition, and answers that depend on credentials which are not in the request.
  private static let neverStored: Set<Int> = [206, 304, 401, 407]
  /// Fields that belong to one connection (RFC 9111, section 3.1).
  private static let ofConnection: [String] = [
    "connection", "proxy-connection", "keep-alive", "te", "transfer-encoding", "upgrade", "proxy-authenticate",
    "proxy-authentication-info", "proxy-authorization",
  ]

  /// The URL without a fragment.
  let url: String
  /// Hashes of the request's fields that the answer depends on, by their lower-case names. Hashes, because a field may be a
  /// secret.
  let selectingFields: [String: [String]]
  /// The response as received, without the fields of its connection.
  let response: HTTPResponse
  /// The time of the request.
  let asked: Int64
  /// The time at which the response arrived.
  let came: Int64

  /// Creates an answer from unchecked values of a file. Nil for times that are out of range.
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

  /// Nil for a response that must not be stored (section 3).
  ///
  /// - Parameter request: The request as it was sent.
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
    // Cookies are not in the request, because libcurl adds them.
    guard !names.contains("*"), !names.contains("cookie") else { return false }
    return isUnderstood || control.isPublic || control.isPrivate || control.maximumAge != nil
      || fields[.expires] != nil
  }

  // MARK: Selection (section 4.1)

  private static func varyingNames(_ response: HTTPResponse) -> Set<String> {
    let vary = (response.headerFields[.vary] ?? "").lowercased()
    return Set(vary.split { $0 == "," || $0 == " " || $0 == "\t" }.map(String.init))
  }

  /// Returns the hashes. `Accept-Encoding` is always included: a request with its own one gets the answer as the server sends
  /// it, and a request without one gets it decompressed.
  private static func selectingFields(of request: HTTPRequest, _ names: Set<String>) -> [String: [String]] {
    var fields: [String: [String]] = [:]
    for name in names.union(["accept-encoding"]) {
      let values = HTTPField.Name(name).map { request.headerFields[values: $0] } ?? []
      fields[name] = values.map { Data($0.utf8).sha256.base64EncodedString() }
    }
    return fields
  }

  /// Whether this is an answer to the request.
  func answers(_ request: HTTPRequest) -> Bool {
    request.urlText == url
      && selectingFields == Self.selectingFields(of: request, Set(selectingFields.keys))
  }

  /// Whether there is a request that both answer. Then the newer one counts.
  func overlaps(_ other: StoredAnswer) -> Bool {
    selectingFields.allSatisfy { name, values in other.selectingFields[name].map { $0 == values } ?? true }
  }

  // MARK: Freshness (section 4.2)

  private var control: CacheControl { CacheControl(response.headerFields[.cacheControl] ?? "") }
  private var date: Int64 { Self.time(response.headerFields.singleValue(.date)) ?? came }

  private static func time(_ text: String?) -> Int64? { text.flatMap(CivilTime.init(httpDate:))?.secondsSince1970 }

  /// Returns the age by the rules of section 4.2.3. Nil if the clock was set back since the response arrived, because the age
  /// is unknown then.
  func age(at now: Int64) -> Int64? {
    guard now >= came else { return nil }
    let apparent = max(came - date, 0)
    let corrected = (CacheControl.seconds(response.headerFields.singleValue(.age) ?? "") ?? 0) + (came - asked)
    return max(apparent, corrected) + (now - came)
  }

  /// The time for which the server allows the use of the response, from its creation.
  var lifetime: Int64 {
    if let age = control.maximumAge { return age }
    let fields = response.headerFields
    // Anything but a date means the past, in particular "0" (section 5.3).
    if fields.contains(.expires) { return max((Self.time(fields.singleValue(.expires)) ?? 0) - date, 0) }
    guard Self.heuristicStatuses.contains(response.status.code) || control.isPublic,
      let changed = Self.time(fields.singleValue(.lastModified))
    else { return 0 }
    return min(max(date - changed, 0) / Self.heuristicPart, Self.mostByHeuristic)
  }

  /// Whether the answer may be used without asking the server, by the directives of the response and of the request (section
  /// 5.2.1).
  func isUsable(_ request: CacheControl, at now: Int64) -> Bool {
    guard !control.isNeverFresh, isYoungEnough(request, at: now), let age = age(at: now) else { return false }
    let freshness = lifetime - age
    if freshness > 0 { return freshness >= request.leastFreshness ?? 0 }
    guard request.leastFreshness == nil, !control.mustBeRevalidated, let most = request.mostStaleness else {
      return false
    }
    return -freshness <= most
  }

  /// Whether the answer is not older than the request allows, regardless of the age that the server allows.
  func isYoungEnough(_ request: CacheControl, at now: Int64) -> Bool {
    guard !request.isNeverFresh else { return false }
    guard let most = request.maximumAge else { return true }
    return age(at: now).map { $0 <= most } ?? false
  }

  /// Whether the answer may replace the response of a server that cannot be reached, or that returns one of
  /// ``CacheDecision/errors`` (RFC 5861, section 4).
  func mayStandIn(for request: HTTPRequest, at now: Int64) -> Bool {
    let wish = CacheControl(of: request)
    guard CacheFreshness.mayBeAnswered(request), answers(request), !wish.isNeverFresh, !control.isNeverFresh,
      !control.mustBeRevalidated, let age = age(at: now)
    else { return false }
    let most = [control.stalenessOnError, wish.stalenessOnError].compactMap { $0 }.max()
    return most.map { age - lifetime <= $0 } ?? false
  }

  /// Returns the response for delivery from the cache, with its age (section 5.1).
  func answer(at now: Int64) -> HTTPResponse {
    var response = response
    response.headerFields[.age] = "\(age(at: now) ?? 0)"
    return response
  }

  // MARK: Validation (section 4.3)

  /// The fields that ask the server whether the answer may still be used. Nil if the server has sent nothing to ask with.
  var conditions: HTTPFields? {
    var fields = HTTPFields()
    fields[.ifNoneMatch] = response.headerFields.singleValue(.eTag)
    fields[.ifModifiedSince] = response.headerFields.singleValue(.lastModified)
    return fields.isEmpty ? nil : fields
  }

  /// Returns the answer after a 304 (section 4.3.4). Nil if the 304 is about another answer, which makes this one useless.
  ///
  /// - Parameter change: Changes the new response before it is stored. It returns nil for a response that must not be stored.
  func refreshed(
    by notModified: HTTPResponse, asked: Int64, came: Int64, _ change: (HTTPResponse) -> HTTPResponse? = { $0 }
  ) -> StoredAnswer? {
    guard hasValidators(of: notModified) else { return nil }
    return change(response.refreshed(by: notModified)).flatMap { with($0, asked, came) }
  }

  /// Returns the answer after the answer to a HEAD (section 4.3.5). Nil if the resource has changed in the meantime.
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

  /// Whether the validators agree. Missing ones agree with any.
  private func hasValidators(of other: HTTPResponse) -> Bool {
    let (own, its) = (response.headerFields, other.headerFields)
    if let tag = its.singleValue(.eTag) {
      return own.singleValue(.eTag).map { Self.opaque($0) == Self.opaque(tag) } ?? false
    }
    return its.singleValue(.lastModified).map { $0 == own.singleValue(.lastModified) } ?? true
  }

  /// Returns the tag for a weak comparison (RFC 9110, section 8.8.3.2).
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

/// The format of a stored answer in a file. Its checksum protects it from damage, but its content may still be invalid.
extension StoredAnswer {
  private struct Record: Codable {
    var url: String
    var selecting: [String: [String]]
    var status: Int
    var reason: String
    /// The names and values of the header fields.
    var fields: [[String]]
    var asked: Int64
    var came: Int64
  }

  /// The text for the file. Nil for an answer that is too long.
  var fileText: [UInt8]? {
    let record = Record(
      url: url, selecting: selectingFields, status: response.status.code, reason: response.status.reasonPhrase,
      fields: response.headerFields.map { [$0.name.rawName, $0.value] }, asked: asked, came: came)
    guard let text = try? JSONEncoder().encode(record), text.count <= AnswerPreface.mostHeadBytes else { return nil }
    return Array(text)
  }

  /// Nil for a text that ``fileText`` does not write.
  init?(fileText: [UInt8]) {
    guard let record = try? JSONDecoder().decode(Record.self, from: Data(fileText)), 200..<600 ~= record.status,
      record.fields.count <= HTTPFields.mostReceived
    else { return nil }
    var fields = HTTPFields()
    for field in record.fields {
      guard field.count == 2, let name = HTTPField.Name(field[0]) else { return nil }
      fields.append(HTTPField(name: name, value: field[1]))
    }
    let status = HTTPResponse.Status(code: record.status, reasonPhrase: record.reason)
    self.init(
      url: record.url, selectingFields: record.selecting,
      response: HTTPResponse(status: status, headerFields: fields), asked: record.asked, came: record.came)
  }
}

/// The beginning of a file with a stored answer: how long its head and its body are, and their checksums.
///
/// ```
///   0  "netwatch"     8  version      12  bytes of the head     16  bytes of the body
///  24  checksum of the head    28  of the body    32  of all of this    36  the head, then the body
/// ```
///
/// All numbers are little-endian. It is written last, so that a file without its end has no preface either.
struct AnswerPreface: Hashable, Sendable {
  static let size = 36
  /// A limit. HTTP servers send heads of a few kilobytes, and libcurl accepts 300 KiB.
  static let mostHeadBytes = 4 * 1_024 * 1_024
  private static let mark = Array("netwatch".utf8)
  private static let version: UInt32 = 1

  let headCount: Int
  let bodyCount: Int64
  let headSum: UInt32
  let bodySum: UInt32

  init(headCount: Int, bodyCount: Int64, headSum: UInt32, bodySum: UInt32) {
    self.headCount = headCount
    self.bodyCount = bodyCount
    self.headSum = headSum
    self.bodySum = bodySum
  }

  /// Nil for bytes that are not a preface.
  ///
  /// - Parameter fileSize: The size of the whole file.
  init?(_ bytes: [UInt8], fileSize: Int64) {
    guard bytes.count == Self.size, bytes.starts(with: Self.mark), Self.number(bytes[8..<12]) == UInt64(Self.version),
      Self.number(bytes[32..<36]) == UInt64(Checksum.of(Array(bytes[..<32])))
    else { return nil }
    let headCount = Self.number(bytes[12..<16])
    let bodyCount = Self.number(bytes[16..<24])
    guard headCount <= Self.mostHeadBytes, bodyCount <= UInt64(max(fileSize, 0)),
      Int64(bodyCount) == fileSize - Int64(Self.size) - Int64(headCount)
    else { return nil }
    self.headCount = Int(headCount)
    self.bodyCount = Int64(bodyCount)
    headSum = UInt32(Self.number(bytes[24..<28]))
    bodySum = UInt32(Self.number(bytes[28..<32]))
  }

  var bytes: [UInt8] {
    let bytes =
      Self.mark + Self.bytes(UInt64(Self.version), 4) + Self.bytes(UInt64(headCount), 4)
      + Self.bytes(UInt64(bodyCount), 8) + Self.bytes(UInt64(headSum), 4) + Self.bytes(UInt64(bodySum), 4)
    return bytes + Self.bytes(UInt64(Checksum.of(bytes)), 4)
  }

  private static func bytes(_ number: UInt64, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// A complete answer from a cache's folder. Its body is read on demand.
///
/// Can be used from any thread. The file stays readable after the cache has removed it.
final class CachedAnswer: Sendable {
  let answer: StoredAnswer
  let preface: AnswerPreface
  let file: OpenFile

  private init(_ answer: StoredAnswer, _ preface: AnswerPreface, _ file: OpenFile) {
    self.answer = answer
    self.preface = preface
    self.file = file
  }

  /// The length in bytes of the body as it is delivered.
  var bodyCount: Int64 { preface.bodyCount }

  /// Reads the next bytes of the body.
  ///
  /// - Returns: The number of bytes. 0 at the end.
  func read(into room: UnsafeMutableRawBufferPointer, at position: Int64) throws(HTTPError) -> Int {
    let left = Int(clamping: max(bodyCount - position, 0))
    let start = Int64(AnswerPreface.size + preface.headCount)
    return try unsafe file.read(
      into: UnsafeMutableRawBufferPointer(rebasing: room.prefix(left)), at: start + position, named: answer.url)
  }

  // MARK: From a file

  private static let partSize: Int64 = 64 * 1_024

  /// Whether the body matches its checksum. Reads the whole body.
  var isBodyWhole: Bool {
    var sum = Checksum()
    var position: Int64 = 0
    var part = [UInt8](repeating: 0, count: Int(clamping: min(bodyCount, Self.partSize)))
    while position < bodyCount {
      let count = unsafe part.withUnsafeMutableBytes { room -> Int in
        guard let count = try? unsafe read(into: room, at: position) else { return 0 }
        unsafe sum.add(UnsafeRawBufferPointer(rebasing: room.prefix(count)))
        return count
      }
      guard count > 0 else { return false }
      position += Int64(count)
    }
    return sum.value == preface.bodySum
  }

  /// Returns an answer whose body was not checked. Nil for a file that is incomplete or does not belong to a cache.
  static func head(of file: OpenFile) -> CachedAnswer? {
    guard let size = file.size(), let start = bytes(of: file, AnswerPreface.size, at: 0),
      let preface = AnswerPreface(start, fileSize: size),
      let text = bytes(of: file, preface.headCount, at: Int64(AnswerPreface.size)),
      Checksum.of(text) == preface.headSum, let answer = StoredAnswer(fileText: text)
    else { return nil }
    return CachedAnswer(answer, preface, file)
  }

  private static func bytes(of file: OpenFile, _ count: Int, at offset: Int64) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    let read = unsafe bytes.withUnsafeMutableBytes { try? unsafe file.read(into: $0, at: offset, named: "an answer") }
    return read == count ? bytes : nil
  }
}

/// A checksum of bytes that come in parts: CRC-32, by zlib. It detects damage by a crash or a disk, but not deliberate changes.
struct Checksum: Hashable, Sendable {
  private(set) var value: UInt32 = 0

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress else { return }
    value = unsafe UInt32(
      truncatingIfNeeded: crc32_z(UInt(value), start.assumingMemoryBound(to: UInt8.self), bytes.count))
  }

  static func of(_ bytes: [UInt8]) -> UInt32 {
    var sum = Checksum()
    unsafe bytes.withUnsafeBytes { unsafe sum.add($0) }
    return sum.value
  }
}

extension HTTPResponse {
  /// Returns the response with the fields of a 304. Fields about the body are not changed. A response that would have more fields than
  /// a head may have stays as it is.
  func refreshed(by response: HTTPResponse) -> HTTPResponse {
    let ofBody: [HTTPField.Name] = [.contentLength, .contentEncoding, .contentType, .contentRange, .transferEncoding]
    let new = response.headerFields.filter { !ofBody.contains($0.name) }
    let names = Set(new.map(\.name))
    let kept = headerFields.filter { !names.contains($0.name) }
    guard kept.count + new.count <= HTTPFields.mostReceived else { return self }
    var result = self
    result.headerFields = kept + new
    return result
  }
}

extension HTTPRequest {
  /// Returns the URL in a field of the answer, as ``urlText`` writes it. Nil if it is not a URL, or has another origin.
  func sibling(at reference: String) -> String? {
    guard let base = urlText.flatMap({ URL(reference: $0.utf8) }),
      let url = URL(reference: reference.utf8, relativeTo: base),
      let other = try? HTTPRequest(.get, to: url.absoluteURL), isSameOrigin(as: other)
    else { return nil }
    return other.urlText
  }
}
