import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of the cookies that servers set, and of those that they get back.
@Suite struct CookieJarTests {
  private static let now = Date(timeIntervalSince1970: 1_800_000_000)

  private static func place(_ text: String) throws -> CookieJar.Place {
    let url = try #require(URL(string: text))
    return try #require(CookieJar.Place(of: HTTPRequest(.get, to: url)))
  }

  /// Returns the cookies that a page gets after another page has set some.
  private static func sent(
    _ cookies: [String], from first: String = "http://www.example.org/set/x", to second: String? = nil,
    after seconds: Double = 0
  ) throws -> String? {
    var jar = CookieJar()
    for cookie in cookies { jar.take(cookie, from: try place(first), at: now) }
    // A jar into which the listed cookies are stored again must send the same cookies.
    let kept = try JSONDecoder().decode([SessionCookie].self, from: JSONEncoder().encode(jar.all(at: now)))
    var other = CookieJar()
    for cookie in kept { other.store(cookie, at: now) }
    let page = try place(second ?? first)
    let text = jar.header(for: page, at: now + seconds)
    #expect(other.header(for: page, at: now + seconds) == text)
    return text
  }

  @Test(
    arguments: [
      ("Max-Age=9223372036854775807", 1e9, true), ("Max-Age=99999999999999999999", 1e9, true), ("Max-Age=5", 4, true),
      ("Max-Age=5", 5, false), ("Max-Age=0", 0, false), ("Max-Age=-1", 0, false), ("Max-Age=abc", 1e9, true),
      ("Max-Age=5x", 1e9, true), ("Max-Age=", 1e9, true), ("Max-Age", 1e9, true), ("max-age=5; MAX-AGE=9", 8, true),
      ("Max-Age=5; Max-Age=x", 5, false), ("Max-Age=abc; Expires=Wed, 01 Jan 2098 00:00:00 GMT", 1e9, true),
      ("Max-Age=abc; Expires=Wed, 01 Jan 2098 00:00:00 GMT", 3e9, false),
      ("Max-Age=5; Expires=Wed, 01 Jan 2098 00:00:00 GMT", 6, false),
      ("Expires=Fri, 15 Jan 2027 08:00:10 GMT", 9, true), ("Expires=Fri, 15 Jan 2027 08:00:10 GMT", 10, false),
      ("Expires=Friday, 15-Jan-27 08:00:10 GMT", 9, true), ("Expires=Friday, 15-Jan-27 08:00:10 GMT", 10, false),
      ("Expires=Fri Jan 15 08:00:10 2027", 9, true), ("Expires=Fri Jan 15 08:00:10 2027", 10, false),
      ("Expires=Thu, 01 Jan 1970 00:00:00 GMT", 0, false), ("Expires=0", 1e9, true), ("Expires=soon", 1e9, true),
    ] as [(String, Double, Bool)])
  func `a cookie lasts as long as it says`(_ attribute: String, _ seconds: Double, _ isThere: Bool) throws {
    #expect(try Self.sent(["c=1; \(attribute)"], after: seconds) == (isThere ? "c=1" : nil))
  }

  @Test(
    arguments: [
      ("", "/set/again", true), ("", "/set", true), ("", "/", false), ("", "/settle", false), ("Path=/", "/", true),
      ("Path=echo", "/set/again", true), ("Path=echo", "/echo", false), ("Path=", "/set/again", true),
      ("Path", "/set/again", true), ("Path=/a", "/a/b?q", true), ("Path=/a", "/a?q", true), ("Path=/a", "/ab", false),
      ("Path=/a/", "/a/b", true), ("Path=/a/", "/a", false), ("Path=/b; Path=/a", "/a", true),
    ]) func `a cookie goes to its path`(_ attribute: String, _ path: String, _ isSent: Bool) throws
  {
    #expect(try Self.sent(["c=1; \(attribute)"], to: "http://www.example.org\(path)") == (isSent ? "c=1" : nil))
  }

  @Test(
    arguments: [
      ("", "www.example.org", "www.example.org", true), ("", "www.example.org", "a.www.example.org", false),
      ("Domain=example.org", "www.example.org", "example.org", true),
      ("Domain=.EXAMPLE.org", "www.example.org", "other.example.org", true),
      ("Domain=example.org", "www.example.org", "notexample.org", false),
      ("Domain=www.example.org", "example.org", "www.example.org", false),
      ("Domain=org", "www.example.org", "www.example.org", false),
      ("Domain=co.uk", "shop.co.uk", "other.co.uk", false), ("Domain=co.uk", "co.uk", "co.uk", true),
      ("Domain=co.uk", "co.uk", "shop.co.uk", false), ("Domain=github.io", "me.github.io", "you.github.io", false),
      ("Domain=", "www.example.org", "www.example.org", true), ("Domain=intranet", "intranet", "intranet", true),
      ("Domain=127.0.0.1", "127.0.0.1", "127.0.0.1", true), ("Domain=0.0.1", "127.0.0.1", "127.0.0.1", false),
      ("Domain=xn--bcher-kva.example", "shop.xn--bcher-kva.example", "xn--bcher-kva.example", true),
      ("Domain=bücher.example", "shop.xn--bcher-kva.example", "xn--bcher-kva.example", true),
    ]) func `a cookie goes to its domain, and to no public suffix`(
      _ attribute: String, _ from: String, _ to: String, _ isSent: Bool
    ) throws
  {
    let sent = try Self.sent(["c=1; Path=/; \(attribute)"], from: "http://\(from)/", to: "http://\(to)/")
    #expect(sent == (isSent ? "c=1" : nil))
  }

  @Test(arguments: ["co.uk", ".co.uk", "uk", "github.io", "com"])
  func `a stored cookie is for no public suffix either`(_ domain: String) throws {
    var jar = CookieJar()
    let cookie = try #require(SessionCookie(name: "c", value: "1", domain: domain, includesSubdomains: true))
    jar.store(cookie, at: Self.now)
    #expect(jar.header(for: try Self.place("http://shop.\(cookie.domain)/"), at: Self.now) == nil)
    #expect(!jar.all(at: Self.now).contains { $0.includesSubdomains })
  }

  @Test func `cookies for https are safe from http`() throws {
    let (plain, safe) = ("http://example.org/", "https://example.org/")
    #expect(try Self.sent(["c=1; Secure"], from: safe, to: safe) == "c=1")
    #expect(try Self.sent(["c=1; Secure"], from: safe, to: plain) == nil)
    #expect(try Self.sent(["c=1; Secure"], from: plain, to: safe) == nil)
    #expect(try Self.sent(["c=1; Secure"], from: "http://localhost:8080/", to: "http://localhost/") == "c=1")
    var jar = CookieJar()
    jar.take("c=1; Secure; Domain=example.org", from: try Self.place(safe), at: Self.now)
    jar.take("c=2; Domain=example.org", from: try Self.place("http://www.example.org/"), at: Self.now)
    jar.take("c=3; Path=/a", from: try Self.place(plain), at: Self.now)
    #expect(jar.header(for: try Self.place(safe + "a"), at: Self.now) == "c=1")
    for (cookie, isKept) in [
      ("__Secure-a=1; Secure", true), ("__Secure-a=1", false), ("__Host-a=1; Secure; Path=/", true),
      ("__Host-a=1; Secure", false), ("__host-a=1; Secure; Path=/; Domain=example.org", false),
    ] {
      #expect(try (Self.sent([cookie], from: safe, to: safe) != nil) == isKept, "\(cookie)")
    }
  }

  @Test(
    arguments: [
      (["a=1", "b=2"], "a=1; b=2"), (["a=1", "a=2"], "a=2"), (["a=1; Path=/", "b=2; Path=/set"], "b=2; a=1"),
      ([" a = 1 ; x"], "a=1"), (["a=\"1, 2\""], "a=\"1, 2\""), (["a=1=2"], "a=1=2"), (["a="], "a="), (["a"], nil),
      (["=1"], nil), ([""], nil), ([";"], nil), (["a=1; a=2"], "a=1"), (["a=ü"], "a=ü"), (["a=1\u{1}"], nil),
      (["a=\(String(repeating: "x", count: 5_000))"], nil), (["a=1", "a=1; Max-Age=0"], nil),
    ] as [([String], String?)])
  func `cookies are read as browsers read them`(_ cookies: [String], _ sent: String?) throws {
    #expect(try Self.sent(cookies) == sent)
  }

  @Test func `http cannot push out what https has set`() throws {
    var jar = CookieJar()
    let (safe, plain) = (try Self.place("https://shop.example.com/"), try Self.place("http://shop.example.com/"))
    jar.take("sid=good; Secure", from: safe, at: Self.now)
    for number in 0..<200 { jar.take("x\(number)=1; Path=/zzz", from: plain, at: Self.now) }
    jar.take("sid=evil", from: plain, at: Self.now)
    // In Swift, U+0301 and the equals sign before it are one character. A server reads bytes, and finds the name `sid`.
    jar.take("sid=\u{301}x=v", from: plain, at: Self.now)
    #expect(jar.header(for: safe, at: Self.now) == "sid=good")
    for number in 0..<4_000 {
      jar.take("c=1", from: try Self.place("http://a\(number).example/"), at: Self.now)
    }
    #expect(jar.header(for: safe, at: Self.now) == "sid=good")
  }

  @Test func `a path may have parameters, and an attribute that is too long is none`() throws {
    #expect(try Self.sent(["a=b"], from: "http://www.example.org/app;v=1/page") == "a=b")
    #expect(try Self.sent(["a=b; Path=/\(String(repeating: "x", count: 2_000))"]) == "a=b")
    #expect(try Self.sent(["a=b; Domain=\(String(repeating: "x", count: 2_000))"]) == "a=b")
  }

  @Test func `a server cannot fill the memory, nor the head of a request`() throws {
    var jar = CookieJar()
    for number in 0..<500 {
      jar.take(
        "c\(number)=\(String(repeating: "x", count: 100))", from: try Self.place("http://a.example/"), at: Self.now)
    }
    let all = jar.all(at: Self.now)
    #expect(all.count == 150 && all.last?.name == "c499")
    let text = try #require(jar.header(for: Self.place("http://a.example/"), at: Self.now))
    #expect(text.utf8.count <= 8_190 && text.utf8.count > 8_000)
    for number in 0..<4_000 { jar.take("c=1", from: try Self.place("http://a\(number).example/"), at: Self.now) }
    #expect(2_700...3_000 ~= jar.all(at: Self.now).count)
    jar.remove { $0.name == "c" }
    #expect(jar.header(for: try Self.place("http://a3999.example/"), at: Self.now) == nil)
  }

  @Test func `whatever a server sends, what is sent is one line without controls`() throws {
    var random = SplitMix(seed: 52)
    let parts = [
      "a", "=", ";", " ", "\t", "Max-Age", "Path", "Domain", "Expires", "Secure", "__Host-", "/", "9", "-", ".", "ü",
      "\u{0}", "\r", "\n",
      "\"", "example.org", "Wed, 01 Jan 2098 00:00:00 GMT", "99999999999999999999",
    ]
    for _ in 0..<20_000 {
      var jar = CookieJar()
      let text = (0..<Int.random(in: 0..<12, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }
        .joined()
      jar.take(text, from: try Self.place("https://www.example.org/a/b"), at: Self.now)
      let sent = jar.header(for: try Self.place("https://www.example.org/a/b"), at: Self.now) ?? ""
      #expect(sent.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f && $0 != UInt8(ascii: ";") }, "\(text)")
    }
  }

  @Test func `a session sends what a server has set, also within one exchange`() async throws {
    let server = try HeadServer { head in
      if head.hasPrefix("GET /set") {
        return "200 OK\r\nSet-Cookie: c=1; Max-Age=99999999999999999999; Path=echo\r\nset-cookie:d=2;Path=/"
      }
      if head.hasPrefix("GET /away") { return "302 Found\r\nLocation: /there\r\nSet-Cookie: away=1; Path=/" }
      let isSigned = head.lowercased().contains("authorization:")
      let challenge =
        "401 No\r\nSet-Cookie: asked=1\r\nWWW-Authenticate: Digest realm=\"it\", nonce=\"1\", qop=\"auth\""
      return head.hasPrefix("GET /locked") && !isSigned ? challenge : nil
    }
    let session = try HTTPSessionManager(baseURL: server.url())
    _ = try await session.data(for: "set/x")
    #expect(await session.cookies().map(\.name) == ["c", "d"])
    _ = try await session.data(for: HTTPCall(.get, "set/y", headerFields: [.cookie: "own=3"]))
    _ = try await session.data(for: "away")
    _ = try await session.data(
      for: "locked/x", options: .with { $0.credential = HTTPCredential(user: "u", password: "p", scheme: .digest) })
    #expect(
      server.values("Cookie") == [
        [], ["c=1; d=2; own=3"], ["d=2"], ["d=2; away=1"], ["d=2; away=1"], ["asked=1; d=2; away=1"],
      ])
  }
}
