import HTTPTypes
import Testing

@testable import NetwatchHTTP

/// Tests of the rules of RFC 9111. A number without the name of a standard is a section of RFC 9111.
@Suite struct HTTPCacheRuleTests {
  /// The date that is 1,000,000,000 seconds after the beginning of 1970.
  private static let date = "Sun, 09 Sep 2001 01:46:40 GMT"
  private static let came: Int64 = 1_000_000_000

  private static func request(_ fields: HTTPFields = [:], _ method: HTTPRequest.Method = .get) -> HTTPRequest {
    HTTPRequest(method: method, scheme: "https", authority: "host", path: "/a#b", headerFields: fields)
  }

  private static func response(_ fields: HTTPFields, _ status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: .init(code: status), headerFields: fields)
  }

  private static func stored(
    _ fields: HTTPFields, status: Int = 200, to request: HTTPRequest = request(), asked: Int64 = came
  ) -> StoredAnswer? {
    StoredAnswer(request, response(fields, status), asked: asked, came: came)
  }

  private static let tagged = CacheDecision.validate([.ifNoneMatch: "\"1\""])

  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var answer: HTTPFields
    var asking: HTTPFields = [:]
    /// The time since the answer has come, in seconds.
    var age: Int64 = 0
    var policy = HTTPCachePolicy.standard
    let decision: CacheDecision

    init(
      _ name: String, _ answer: HTTPFields, asking: HTTPFields = [:], age: Int64 = 0,
      policy: HTTPCachePolicy = .standard, _ decision: CacheDecision
    ) {
      testDescription = name
      self.answer = answer
      self.asking = asking
      self.age = age
      self.policy = policy
      self.decision = decision
    }
  }

  private static func fields(_ control: String, _ more: HTTPFields = [:]) -> HTTPFields {
    var fields: HTTPFields = [.cacheControl: control, .eTag: "\"1\""]
    fields.append(contentsOf: more)
    return fields
  }

  private static let minute = fields("max-age=60")

  static let cases = [
    Case("4.2: fresh", minute, age: 59, .use),
    Case("4.2: stale", minute, age: 60, tagged),
    Case("4.2: stale, and nothing to ask with", [.cacheControl: "max-age=60"], age: 60, .load),
    Case("4.2: the clock was set back", minute, age: -1, tagged),
    Case("4.2.1: Expires", [.date: date, .expires: "Sun, 09 Sep 2001 01:47:40 GMT"], age: 59, .use),
    Case("4.2.1: Expires is over", [.date: date, .expires: "Sun, 09 Sep 2001 01:47:40 GMT"], age: 60, .load),
    Case(
      "4.2.1: Expires in an old form",
      [.date: "Sunday, 09-Sep-01 01:46:40 GMT", .expires: "Sun Sep  9 01:47:40 2001"], age: 59, .use),
    Case(
      "4.2.1: Expires in an old form is over",
      [.date: "Sun Sep  9 01:46:40 2001", .expires: "Sunday, 09-Sep-01 01:47:40 GMT"], age: 60, .load),
    Case(
      "4.2.3: an old Date in an old form", fields("max-age=60", [.date: "Sunday, 09-Sep-01 01:45:50 GMT"]), age: 10,
      tagged),
    Case(
      "4.2.2: a tenth, in an old form", [.date: date, .lastModified: "Sunday, 09-Sep-01 01:30:00 GMT"], age: 99, .use),
    Case("4.2.1: without Date, from when it came", [.expires: "Sun, 09 Sep 2001 01:47:40 GMT"], age: 59, .use),
    Case("4.2.1: max-age before Expires", fields("max-age=0", [.expires: "Sun, 09 Sep 2031 01:47:40 GMT"]), tagged),
    Case("4.2.1: s-maxage is for others", fields("max-age=60, s-maxage=0"), age: 59, .use),
    Case("4.2.1: of two the shorter", fields("max-age=60, max-age=30"), age: 30, tagged),
    Case("5.3: Expires that is no date", [.expires: "0", .eTag: "\"1\""], tagged),
    Case(
      "4.2.2: a tenth of the time since the last change",
      [.date: date, .lastModified: "Sun, 09 Sep 2001 01:30:00 GMT"],
      age: 99, .use),
    Case(
      "4.2.2: and no longer", [.date: date, .lastModified: "Sun, 09 Sep 2001 01:30:00 GMT"], age: 100,
      .validate([.ifModifiedSince: "Sun, 09 Sep 2001 01:30:00 GMT"])),
    Case("4.2.2: a day at most", [.lastModified: "Sun, 09 Sep 1990 01:30:00 GMT"], age: 86_399, .use),
    Case(
      "4.2.2: a day, and no longer", [.lastModified: "Sun, 09 Sep 1990 01:30:00 GMT"], age: 86_400,
      .validate([.ifModifiedSince: "Sun, 09 Sep 1990 01:30:00 GMT"])),
    Case("4.2.2: nothing to guess from", [.eTag: "\"1\""], tagged),
    Case("4.2.3: Age counts", fields("max-age=60", [.age: "50"]), age: 9, .use),
    Case("4.2.3: Age makes it stale", fields("max-age=60", [.age: "50"]), age: 10, tagged),
    Case("4.2.3: Date counts", fields("max-age=60", [.date: "Sun, 09 Sep 2001 01:45:50 GMT"]), age: 9, .use),
    Case("4.2.3: an old Date", fields("max-age=60", [.date: "Sun, 09 Sep 2001 01:45:50 GMT"]), age: 10, tagged),
    Case("4.2.3: a Date of tomorrow", fields("max-age=60", [.date: "Mon, 10 Sep 2001 01:45:50 GMT"]), age: 59, .use),
    Case("5.2.1.1: max-age of the request", minute, asking: [.cacheControl: "max-age=10"], age: 10, .use),
    Case("5.2.1.1: it is older", minute, asking: [.cacheControl: "max-age=10"], age: 11, tagged),
    Case("5.2.1.2: max-stale", minute, asking: [.cacheControl: "max-stale"], age: 9_999, .use),
    Case("5.2.1.2: max-stale=10", minute, asking: [.cacheControl: "max-stale=10"], age: 70, .use),
    Case("5.2.1.2: more than that", minute, asking: [.cacheControl: "max-stale=10"], age: 71, tagged),
    Case("5.2.1.2: max-stale=x", minute, asking: [.cacheControl: "max-stale=x"], age: 61, tagged),
    Case("5.2.1.3: min-fresh", minute, asking: [.cacheControl: "min-fresh=10"], age: 50, .use),
    Case("5.2.1.3: fresh for less", minute, asking: [.cacheControl: "min-fresh=10"], age: 51, tagged),
    Case("5.2.1.3: it is stale", minute, asking: [.cacheControl: "min-fresh=0, max-stale"], age: 61, tagged),
    Case("5.2.1.4: no-cache", minute, asking: [.cacheControl: "no-cache"], tagged),
    Case("5.4: Pragma", minute, asking: [pragma: "no-cache"], tagged),
    Case("5.4: Pragma beside Cache-Control", minute, asking: [pragma: "no-cache", .cacheControl: "max-age=9"], .use),
    Case("5.2.1.5: no-store", minute, asking: [.cacheControl: "no-store"], .load),
    Case("5.2.1.7: only-if-cached", minute, asking: [.cacheControl: "only-if-cached"], age: 59, .use),
    Case("5.2.1.7: stale", minute, asking: [.cacheControl: "only-if-cached"], age: 60, .fail),
    Case("5.2.1.7: stale is good enough", minute, asking: [.cacheControl: "only-if-cached, max-stale"], age: 60, .use),
    Case(
      "5.2.2.2: must-revalidate", fields("max-age=60, must-revalidate"), asking: [.cacheControl: "max-stale"], age: 60,
      tagged),
    Case("5.2.2.2: while it is fresh", fields("max-age=60, must-revalidate"), age: 59, .use),
    Case("5.2.2.4: no-cache", fields("no-cache, max-age=60"), asking: [.cacheControl: "max-stale"], tagged),
    Case("5.2.2.4: no-cache for a field is for all", fields("max-age=60, no-cache=\"set-cookie\""), tagged),
    Case("5.2.2.7: private", fields("private, max-age=60"), age: 59, .use),
    Case("4.1: Vary on a field that is missing in both", fields("max-age=60", [.vary: "Accept"]), .use),
    Case("4.1: Vary", fields("max-age=60", [.vary: "User-Agent, accept"]), asking: [.accept: "a"], .load),
    Case("a request with an encoding of its own", minute, asking: [.acceptEncoding: "identity"], .load),
    Case("3.3: a part", minute, asking: [.range: "bytes=0-1"], .load),
    Case("4.3.1: conditions of the caller's own", minute, asking: [.ifNoneMatch: "\"2\""], .load),
    Case("ignoresCache", minute, policy: .ignoresCache, .load),
    Case("prefersCache", fields("max-age=60, must-revalidate"), age: 9_999, policy: .prefersCache, .use),
    Case("prefersCache, and the clock was set back", minute, age: -1, policy: .prefersCache, .use),
    Case(
      "prefersCache, and the request does not", minute, asking: [.cacheControl: "no-cache"], policy: .prefersCache,
      tagged),
    Case("requiresCache", minute, age: 9_999, policy: .requiresCache, .use),
    Case(
      "requiresCache, and the request does not", minute, asking: [.cacheControl: "no-cache"], policy: .requiresCache,
      .fail),
    Case("requiresCache, no-store", minute, asking: [.cacheControl: "no-store"], policy: .requiresCache, .fail),
    Case("revalidates", minute, policy: .revalidates, tagged),
    Case("revalidates without a validator", [.cacheControl: "max-age=60"], policy: .revalidates, .load),
  ]

  private static let pragma = HTTPField.Name("Pragma")!

  @Test(arguments: cases) func `a stored answer is used, validated, or not`(_ it: Case) throws {
    let stored = try #require(Self.stored(it.answer))
    #expect(CacheDecision(on: Self.request(it.asking), stored, it.policy, at: Self.came + it.age) == it.decision)
  }

  @Test func `without a stored answer the server is asked, unless it must not be`() {
    let none: HTTPFields = [:]
    let cases: [(HTTPCachePolicy, HTTPFields, CacheDecision)] = [
      (.standard, none, .load), (.requiresCache, none, .fail), (.prefersCache, none, .load),
      (.standard, [.cacheControl: "only-if-cached"], .fail), (.revalidates, none, .load),
    ]
    for (policy, fields, decision) in cases {
      #expect(CacheDecision(on: Self.request(fields), nil, policy, at: 0) == decision)
    }
  }

  @Test func `4: a stored GET answers a HEAD while it is fresh, and no other method`() throws {
    let stored = try #require(Self.stored(Self.minute))
    func decision(_ method: HTTPRequest.Method, age: Int64) -> CacheDecision {
      CacheDecision(on: Self.request([:], method), stored, .standard, at: Self.came + age)
    }
    #expect(decision(.head, age: 59) == .use)
    #expect(decision(.head, age: 60) == .load)
    for method in [HTTPRequest.Method.post, .put, .delete, .options] { #expect(decision(method, age: 0) == .load) }
  }

  @Test func `4: an answer is for its URL, whatever the fragment is`() throws {
    let stored = try #require(Self.stored(Self.minute))
    var other = Self.request()
    other.path = "/a#c"
    #expect(CacheDecision(on: other, stored, .standard, at: Self.came) == .use)
    for (scheme, authority, path) in [("http", "host", "/a"), ("https", "host:1", "/a"), ("https", "host", "/a?")] {
      (other.scheme, other.authority, other.path) = (scheme, authority, path)
      #expect(CacheDecision(on: other, stored, .standard, at: Self.came) == .load)
    }
  }

  @Test func `4.1: fields that an answer depends on have to be the same`() throws {
    let stored = try #require(
      Self.stored(Self.fields("max-age=60", [.vary: "Accept"]), to: Self.request([.accept: "a", .userAgent: "x"])))
    #expect(CacheDecision(on: Self.request([.accept: "a", .userAgent: "y"]), stored, .standard, at: Self.came) == .use)
    for fields in [[.accept: "b"], [:]] as [HTTPFields] {
      #expect(CacheDecision(on: Self.request(fields), stored, .standard, at: Self.came) == .load)
    }
  }

  @Test func `4.2.3: the time that the answer was on its way counts`() throws {
    let stored = try #require(Self.stored(Self.fields("max-age=60", [.age: "10"]), asked: Self.came - 5))
    #expect(stored.age(at: Self.came) == 15)
    #expect(stored.age(at: Self.came + 7) == 22)
    #expect(stored.answer(at: Self.came + 7).headerFields[.age] == "22")
    // A clock that was set back in the meantime does not reduce the age.
    #expect(Self.stored([.age: "10"], asked: Self.came + 5)?.age(at: Self.came) == 10)
  }

  // MARK: Storing

  struct Storing: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let status: Int
    let answer: HTTPFields
    var asking: HTTPFields = [:]
    var method = HTTPRequest.Method.get
    let isStored: Bool

    init(
      _ name: String, _ status: Int, _ answer: HTTPFields, asking: HTTPFields = [:], method: HTTPRequest.Method = .get,
      _ isStored: Bool
    ) {
      testDescription = name
      self.status = status
      self.answer = answer
      self.asking = asking
      self.method = method
      self.isStored = isStored
    }
  }

  static let storing =
    [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].map {
      Storing("RFC 9110, 15.1: \($0) without a word", $0, [:], true)
    } + [206, 304, 401, 407].map { Storing("3: \($0) is never stored", $0, minute, false) }
    + [201, 302, 307, 400, 403, 500, 503].flatMap { status in
      [
        Storing("3: \(status) without a word", status, [:], false),
        Storing("3: \(status) with max-age", status, minute, true),
        Storing("3: \(status) with Expires", status, [.expires: date], true),
        Storing("3: \(status) with public", status, fields("public"), true),
        Storing("5.2.2.3: \(status) that must be understood", status, fields("max-age=9, must-understand"), false),
      ]
    } + [
      Storing("9.2.1: HEAD", 200, minute, method: .head, false),
      Storing("3: POST", 200, minute, method: .post, false),
      Storing("5.2.2.5: no-store", 200, fields("no-store, max-age=60"), false),
      Storing(
        "5.2.2.3: no-store for those that do not know must-understand", 200, fields("no-store, must-understand"), true),
      Storing("5.2.1.5: no-store of the request", 200, minute, asking: [.cacheControl: "no-store"], false),
      Storing("5.2.2.7: private", 200, fields("private"), true),
      Storing("3.5: Authorization in a private cache", 200, minute, asking: [.authorization: "Basic x"], true),
      Storing("4.1: Vary: *", 200, fields("max-age=60", [.vary: "Accept, *"]), false),
      Storing("4.1: cookies are not in the request", 200, fields("max-age=60", [.vary: "cookie"]), false),
      Storing("3.3: a request for a part", 200, minute, asking: [.range: "bytes=0-1"], false),
      Storing("a condition of the caller's own", 200, minute, asking: [.ifMatch: "\"1\""], false),
    ]

  @Test(arguments: storing) func `an answer is stored, or not`(_ it: Storing) {
    #expect((Self.stored(it.answer, status: it.status, to: Self.request(it.asking, it.method)) != nil) == it.isStored)
  }

  @Test func `3.1: the fields of a connection are not stored`() throws {
    let names = ["Keep-Alive", "Proxy-Authenticate", "Upgrade", "X-Hop", "Connection", "Transfer-Encoding", "X-Kept"]
    var fields: HTTPFields = [:]
    for name in names { fields[try #require(HTTPField.Name(name))] = "X-Hop" }
    #expect(Self.stored(fields)?.response.headerFields.map(\.name.rawName) == ["X-Kept"])
  }

  // MARK: Changes

  @Test func `4.3.4: a 304 brings new fields, and no length of another body`() throws {
    let stored = try #require(
      Self.stored(Self.fields("max-age=60", [.contentType: "text/plain", .contentLength: "4", .age: "9"])))
    let answer = Self.response([.eTag: "\"1\"", .cacheControl: "max-age=90", .contentLength: "0"], 304)
    let fresh = try #require(stored.refreshed(by: answer, asked: Self.came + 70, came: Self.came + 71))
    #expect(fresh.response.status == .ok)
    #expect(fresh.response.headerFields[.contentType] == "text/plain")
    #expect(fresh.response.headerFields[.contentLength] == "4")
    #expect(fresh.lifetime == 90)
    #expect(CacheDecision(on: Self.request(), fresh, .standard, at: Self.came + 71 + 79) == .use)
  }

  @Test func `fields that each 304 adds stop at the limit of a head`() throws {
    func answer(_ numbers: Range<Int>) throws -> HTTPResponse {
      Self.response(HTTPFields(try numbers.map { HTTPField(name: try #require(.init("x-\($0)")), value: "") }), 304)
    }
    let first = try answer(0..<1_500).refreshed(by: try answer(1_000..<2_000))
    #expect(first.headerFields.count == 2_000)
    let more = try answer(2_000..<2_001)
    #expect(first.refreshed(by: more) == first)
  }

  @Test(
    arguments: [
      ([.eTag: "\"1\""], true), ([.eTag: "W/\"1\""], true), ([.eTag: "\"2\""], false), ([:], true),
      ([.lastModified: "Sun, 09 Sep 2001 01:30:00 GMT"], true),
      ([.lastModified: "Sun, 09 Sep 2001 01:30:01 GMT"], false), ([.cacheControl: "no-store"], false),
    ] as [(HTTPFields, Bool)]) func `4.3.4: a 304 about another answer refreshes none`(
      _ fields: HTTPFields, _ isOwn: Bool
    )
    throws
  {
    let stored = try #require(Self.stored(Self.fields("", [.lastModified: "Sun, 09 Sep 2001 01:30:00 GMT"])))
    let fresh = stored.refreshed(by: Self.response(fields, 304), asked: Self.came, came: Self.came)
    #expect((fresh != nil) == isOwn)
  }

  @Test(
    arguments: [
      ([.eTag: "\"1\"", .contentLength: "4"], 200, true), ([.eTag: "\"1\"", .contentLength: "5"], 200, false),
      ([.eTag: "\"2\"", .contentLength: "4"], 200, false), ([.contentLength: "4"], 200, true), ([:], 404, false),
    ] as [(HTTPFields, Int, Bool)])
  func `4.3.5: a HEAD refreshes the answer, or shows that it is outdated`(
    _ fields: HTTPFields, _ status: Int, _ isSame: Bool
  ) throws {
    let stored = try #require(Self.stored(Self.fields("", [.contentLength: "4"])))
    #expect((stored.refreshed(byHead: Self.response(fields, status), asked: 0, came: 1) != nil) == isSame)
  }

  @Test(
    arguments: [
      (.post, 200, [:], ["https://host/a"]), (.put, 204, [:], ["https://host/a"]),
      (.delete, 303, [:], ["https://host/a"]),
      (.patch, 200, [.location: "/b"], ["https://host/a", "https://host/b"]),
      (.post, 201, [.contentLocation: "c?d#e"], ["https://host/a", "https://host/c?d"]),
      (.post, 201, [.location: "https://HOST:443/b"], ["https://host/a", "https://HOST:443/b"]),
      (.post, 201, [.location: "https://other/b"], ["https://host/a"]),
      (.post, 201, [.location: "http://host/b"], ["https://host/a"]),
      (.post, 201, [.location: "https://host/a"], ["https://host/a"]),
      (.post, 404, [.location: "/b"], []), (.post, 500, [:], []), (.get, 200, [.location: "/b"], []),
      (.head, 200, [:], []), (.options, 200, [:], []),
    ] as [(HTTPRequest.Method, Int, HTTPFields, [String])])
  func `4.4: what a request has changed is not kept`(
    _ method: HTTPRequest.Method, _ status: Int, _ fields: HTTPFields, _ urls: [String]
  ) {
    #expect(CacheDecision.invalidated(by: Self.request([:], method), Self.response(fields, status)) == urls)
  }

  @Test(
    arguments: [
      ("max-age=60, stale-if-error=10", "", 70, true), ("max-age=60, stale-if-error=10", "", 71, false),
      ("max-age=60", "stale-if-error=10", 70, true), ("max-age=60", "", 61, false),
      ("max-age=60, stale-if-error=10, must-revalidate", "", 61, false),
      ("no-cache, stale-if-error=99", "", 1, false), ("max-age=60, stale-if-error=10", "no-cache", 61, false),
      ("max-age=60, stale-if-error=10", "no-store", 61, false),
    ])
  func `RFC 5861, 4: a stale answer stands in for an error`(
    _ control: String, _ asking: String, _ age: Int64, _ may: Bool
  ) throws {
    let stored = try #require(Self.stored([.cacheControl: control]))
    let request = Self.request(asking.isEmpty ? [:] : [.cacheControl: asking])
    #expect(stored.mayStandIn(for: request, at: Self.came + age) == may)
  }

  @Test func `numbers that no clock says do no harm`() throws {
    let huge = "99999999999999999999"
    let stored = try #require(
      Self.stored(Self.fields("max-age=\(huge), stale-if-error=\(huge)", [.age: huge, .date: "x", .expires: huge])))
    for now in [Int64.min, 0, Self.came, StoredAnswer.mostSeconds, 1 << 60] {
      _ = CacheDecision(
        on: Self.request([.cacheControl: "max-stale=\(huge), max-age=\(huge)"]), stored, .standard, at: now)
      _ = CacheDecision(on: Self.request([.cacheControl: "min-fresh=\(huge)"]), stored, .standard, at: now)
      _ = stored.mayStandIn(for: Self.request(), at: now)
      _ = stored.answer(at: now)
    }
    #expect(StoredAnswer(url: "", selectingFields: [:], response: Self.response([:]), asked: -1, came: 0) == nil)
    #expect(StoredAnswer(url: "", selectingFields: [:], response: Self.response([:]), asked: 0, came: .max) == nil)
  }
}
