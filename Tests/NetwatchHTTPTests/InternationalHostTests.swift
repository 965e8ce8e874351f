import Foundation
import HTTPTypes
import Testing

@testable import NetwatchHTTP

/// Tests of names with letters beyond ASCII. libcurl would read them in the charset of the locale, and not at all in
/// the locale `C`.
@Suite(.timeLimit(.minutes(5))) struct InternationalHostTests {
  @Test(
    arguments: [
      ("example.org", "example.org"), ("EXAMPLE.org:80", "EXAMPLE.org:80"), ("127.0.0.1:8080", "127.0.0.1:8080"),
      ("[::1]:80", "[::1]:80"), ("[fe80::1%25eth0]", "[fe80::1%25eth0]"), ("a_b.example", "a_b.example"),
      ("bücher.example", "xn--bcher-kva.example"), ("BÜCHER.example:81", "xn--bcher-kva.example:81"),
      ("b%C3%BCcher.example", "xn--bcher-kva.example"), ("b%c3%bccher.localhost:1", "xn--bcher-kva.localhost:1"),
      ("%65xample.org", "example.org"), ("faß.example", "xn--fa-hia.example"), ("例え。テスト", "xn--r8jz45g.xn--zckzah"),
      ("xn--bcher-kva.example", "xn--bcher-kva.example"), ("host:", "host"),
      // A text that could be read as another host, or as an address, is not a host.
      ("user@host", nil), ("a:b@host", nil), ("host:80@evil", nil), ("host/path", nil), ("host\\evil", nil), ("", nil),
      ("host evil", nil), ("host#evil", nil), ("host?evil", nil), ("host%2Fevil", nil), ("host%40evil", nil),
      ("host%00.evil", nil), ("host%zz", nil), ("host%C3", nil), ("１２７.0.0.1", nil), ("０x7f", nil), ("a.０x7f", nil),
      ("evil.example℀.org", nil), ("evil／.org", nil), ("a＠b.example", nil), ("host:0", nil), ("host:65536", nil),
      ("host:+1", nil), ("host:1:2", nil), ("[::1", nil), ("[::1]x", nil), ("[evil]/", nil), ("-ü.example", nil),
    ] as [(String, String?)])
  func `an authority is ASCII, and says one host`(_ text: String, _ expected: String?) {
    #expect(Authority(text)?.text == expected)
  }

  @Test func `a request finds its server by a name in any letters`() async throws {
    let server = try HeadServer { head in
      head.contains("GET /moved")
        ? "302 Found\r\nLocation: http://büro.localhost:\(head.firstMatch(of: /:(\d+)\r\n/)?.1 ?? "")/" : nil
    }
    let session = try HTTPSessionManager()
    let port = server.server.port
    let request = HTTPRequest(method: .get, scheme: "http", authority: "bücher.localhost:\(port)", path: "/moved")
    let reply = try await session.data(for: request)
    #expect(server.values("host") == [["xn--bcher-kva.localhost:\(port)"], ["xn--bro-hoa.localhost:\(port)"]])
    #expect(reply.request.authority == "xn--bro-hoa.localhost:\(port)")
    // FoundationEssentials has no tables for international names, so it writes them like this.
    var parts = URLComponents()
    (parts.scheme, parts.percentEncodedHost, parts.port, parts.path) = ("http", "b%C3%BCcher.localhost", Int(port), "/")
    let url = try #require(parts.url)
    _ = try await session.data(for: HTTPRequest(.get, to: url))
    _ = try await session.send(HTTPCall(.get, url.absoluteString), as: HTTPResponseSerializer())
    #expect(
      server.values("host").suffix(2) == [["xn--bcher-kva.localhost:\(port)"], ["xn--bcher-kva.localhost:\(port)"]])
  }

  @Test(arguments: ["user:word@127.0.0.1", "１２７.0.0.1", "a b"])
  func `what is no host is refused before anything is sent`(_ authority: String) async throws {
    let session = try HTTPSessionManager()
    let request = HTTPRequest(method: .get, scheme: "http", authority: authority, path: "/")
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: request) }
    #expect(error?.kind == .badURL)
  }
}
