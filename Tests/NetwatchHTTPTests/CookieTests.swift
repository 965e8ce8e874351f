import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite(.timeLimit(.minutes(5))) struct CookieTests {
  private let server: NginxServer
  private let session: HTTPSessionManager

  init() throws {
    server = try NginxServer(
      server: """
        location = /cookie/long { add_header Set-Cookie "stays=1; Max-Age=1000; HttpOnly"; return 204; }
        """)
    session = try HTTPSessionManager(baseURL: server.url)
  }

  private func get(_ path: String, by session: HTTPSessionManager? = nil) async throws -> String {
    let session = session ?? self.session
    return String(
      decoding: try await session.data(for: HTTPRequest(.get, to: session.url(for: path))).value, as: UTF8.self)
  }

  @Test func `cookies come back`() async throws {
    _ = try await get("cookie/set")
    #expect(try await get("cookie/get") == "flavour=oat")
  }

  @Test func `cookies can be read, kept, and given to another session`() async throws {
    _ = try await get("cookie/set")
    _ = try await get("cookie/long")
    let cookies = await session.cookies().sorted { $0.name < $1.name }
    #expect(cookies.map(\.name) == ["flavour", "stays"])
    #expect(cookies[0] == SessionCookie(name: "flavour", value: "oat", domain: "127.0.0.1"))
    #expect(cookies[1].isHTTPOnly)
    #expect(cookies[1].path == "/cookie")
    #expect(try #require(cookies[1].expires).timeIntervalSinceNow > 900)

    let kept = try JSONDecoder().decode([SessionCookie].self, from: JSONEncoder().encode(cookies))
    #expect(kept == cookies)
    let other = try HTTPSessionManager(baseURL: server.url)
    #expect(await other.cookies().isEmpty)
    other.store(kept)
    #expect(try await get("cookie/get", by: other).split(separator: "; ").sorted() == ["flavour=oat", "stays=1"])
  }

  @Test func `cookies can be removed, all or some`() async throws {
    _ = try await get("cookie/set")
    _ = try await get("cookie/long")
    session.removeCookies { $0.name == "stays" }
    #expect(try await get("cookie/get") == "flavour=oat")
    session.removeCookies()
    #expect(await session.cookies().isEmpty)
    #expect(try await get("cookie/get") == "")
  }

  @Test func `a session that has ended has no cookies, and says so`() async throws {
    _ = try await get("cookie/set")
    session.invalidate()
    await session.waitUntilInvalidated()
    #expect(await session.cookies().isEmpty)
  }

  @Test func `cookies are handled by those sessions alone that want to`() async throws {
    var configuration = HTTPSessionConfiguration()
    configuration.handlesCookies = false
    let session = try HTTPSessionManager(baseURL: server.url, configuration: configuration)
    _ = try await get("cookie/set", by: session)
    #expect(try await get("cookie/get", by: session) == "")
  }

  @Test func `cookies can be accepted and not sent, and sent and not accepted`() async throws {
    for (accepts, sends) in [(true, false), (false, true)] {
      var configuration = HTTPSessionConfiguration()
      (configuration.acceptsCookies, configuration.sendsCookies) = (accepts, sends)
      #expect(!configuration.handlesCookies)
      let session = try HTTPSessionManager(baseURL: server.url, configuration: configuration)
      _ = try await get("cookie/set", by: session)
      #expect(await session.cookies().map(\.name) == (accepts ? ["flavour"] : []))
      session.store([try #require(SessionCookie(name: "own", value: "1", domain: "127.0.0.1"))])
      #expect(try await get("cookie/get", by: session) == (sends ? "own=1" : ""))
    }
  }

  @Test func `what no server could have set is no cookie`() {
    for text in ["a\tb", "a\r\nEvil: 1", "a;b", "a\u{0}"] {
      #expect(SessionCookie(name: "n", value: text, domain: "h") == nil)
      #expect(SessionCookie(name: text, value: "v", domain: "h") == nil)
      #expect(SessionCookie(name: "n", value: "v", domain: text) == nil)
      // A path may contain a semicolon: a cookie without a path gets that of its request, which may have parameters
      // (RFC 3986, section 3.3).
      #expect((SessionCookie(name: "n", value: "v", domain: "h", path: "/" + text) == nil) == (text != "a;b"))
    }
    #expect(SessionCookie(name: "", value: "v", domain: "h") == nil)
    #expect(SessionCookie(name: "n=", value: "v", domain: "h") == nil)
    #expect(SessionCookie(name: "n", value: "v", domain: ".") == nil)
    #expect(SessionCookie(name: "n", value: "v", domain: "h", path: "p") == nil)
    #expect(SessionCookie(name: "n", value: "v", domain: "h", expires: .distantPast) == nil)
    #expect(SessionCookie(name: "n", value: "", domain: ".H", path: "/p q")?.domain == "h")
  }

  @Test func `mutated lines of cookies are refused, or are cookies`() throws {
    var random = SplitMix(seed: 8)
    let line = Array("#HttpOnly_.example.org\tTRUE\t/here\tFALSE\t1800000000\tname\tvalue".utf8)
    for _ in 0..<FuzzRounds.count(default: 20_000) {
      var bytes = line
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[place] = .random(in: 0...255, using: &random)
        case 1: bytes.remove(at: place)
        default: bytes.insert(UInt8(ascii: "\t"), at: place)
        }
      }
      guard let cookie = SessionCookie(line: String(decoding: bytes, as: UTF8.self)) else { continue }
      #expect(SessionCookie(line: cookie.line) == cookie)
    }
  }
}
