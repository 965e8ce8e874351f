import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests with two widely used proxies: squid and microsocks.
@Suite(.timeLimit(.minutes(5))) struct ProxyTests {
  private static let remote =
    "location = /remote { default_type text/plain; return 200 \"$remote_addr $http_proxy_authorization\"; }"
  private let authority: CertificateAuthority
  private let policy: SecurityPolicy
  private let chain: (chain: URL, key: URL)

  init() throws {
    authority = try CertificateAuthority()
    policy = try SecurityPolicy(.none, roots: .certificates(X509Certificate.load(authority.root.certificate)))
    chain = try authority.chain(
      authority.issue("leaf", names: "IP:127.0.0.1,DNS:localhost,DNS:*.localhost,DNS:a.invalid"))
  }

  private func session(
    _ proxy: HTTPProxy, policy: SecurityPolicy? = nil, _ change: (inout HTTPSessionConfiguration) -> Void = { _ in }
  ) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    configuration.proxy = proxy
    change(&configuration)
    return try HTTPSessionManager(configuration: configuration, policy: policy ?? self.policy)
  }

  private func remote(_ url: URL, _ session: HTTPSessionManager) async throws -> String {
    let reply = try await session.data(for: HTTPRequest(.get, to: url.appending(path: "remote")))
    return String(decoding: reply.value, as: UTF8.self)
  }

  private func failure(_ url: URL, _ session: HTTPSessionManager) async throws -> HTTPError {
    try #require(await #expect(throws: HTTPError.self) { try await remote(url, session) })
  }

  private func plain(_ server: NginxServer, host: String) throws -> URL {
    try #require(URL(string: "http://\(host):\(server.url.port ?? 0)/"))
  }

  // MARK: A proxy that asks for a credential

  /// Starts a proxy that asks for a credential with a scheme. If a request has a credential, the proxy answers it as
  /// the server would: JSON for `/x`, events for `/events`, and a redirect to `/x` for `/from`.
  private func askingProxy(_ scheme: String, isChunked: Bool, _ heads: Box<[String]>) throws -> ScriptedServer {
    let body = isChunked ? "Transfer-Encoding: chunked\r\n\r\n4\r\nasks\r\n0\r\n\r\n" : "Content-Length: 4\r\n\r\nasks"
    return try ScriptedServer { connection, _ in
      while let head = connection.readHead() {
        if let length = head.firstMatch(of: /Content-Length: (\d+)/).flatMap({ Int($0.1) }) {
          _ = connection.read(length)
        }
        guard head.contains("Proxy-Authorization: ") else {
          connection.write("HTTP/1.1 407 Asks\r\nProxy-Authenticate: \(scheme)\r\nX-From: proxy\r\n\(body)")
          continue
        }
        heads.change { $0.append(head) }
        let (fields, content) =
          if head.contains("/from ") {
            ("302 Found\r\nLocation: /x", "")
          } else if head.contains("/events ") {
            ("200 OK\r\nContent-Type: text/event-stream", "data: one\n\ndata: two\n\n")
          } else {
            ("200 OK\r\nContent-Type: application/json", "{\"a\":1}")
          }
        connection.write(
          "HTTP/1.1 \(fields)\r\nX-From: origin\r\nContent-Length: \(content.utf8.count)\r\n\r\n\(content)")
      }
    }
  }

  @Test(
    arguments: [
      (HTTPCredential.Scheme.any, "Basic realm=\"p\""), (.any, "Digest realm=\"p\", nonce=\"n0\", qop=\"auth\""),
      (.digest, "Digest realm=\"p\", nonce=\"n0\", qop=\"auth\""),
    ], [false, true])
  func `a question that libcurl has answered is not the response`(
    _ asked: (HTTPCredential.Scheme, String), _ isChunked: Bool
  ) async throws {
    let heads = Box<[String]>([])
    let server = try askingProxy(asked.1, isChunked: isChunked, heads)
    defer { server.stop() }
    let credential = HTTPCredential(user: "pu", password: "pp", scheme: asked.0)
    let session = try session(.http("127.0.0.1", port: Int(server.port), credential: credential))
    let url = try #require(URL(string: "http://origin.test/x"))
    func check(_ reply: HTTPReply<Data>) {
      #expect(reply.response.status == .ok && reply.value == Data("{\"a\":1}".utf8) && reply.trailers.isEmpty)
      #expect(reply.response.headerFields[HTTPField.Name("X-From")!] == "origin")
    }
    check(try await session.data(for: url))
    check(try await session.upload(.data(Data("hello there".utf8)), with: HTTPRequest(.post, to: url)))
    let other = try #require(URL(string: "http://origin.test/from"))
    check(try await session.data(for: other))
    let value = try await session.send(url, as: StructuredValue.self).value
    #expect(value == ["a": 1])
    let folder = try TemporaryFolder()
    _ = try await session.download(url, to: .file(folder.url("plain")))
    _ = try await session.resumableDownload(url, to: folder.url("kept"))
    for name in ["plain", "kept"] { #expect(try Data(contentsOf: folder.url(name)) == Data("{\"a\":1}".utf8)) }
    var events: [String] = []
    let stream = try #require(URL(string: "http://origin.test/events"))
    for try await event in session.serverSentEvents(from: stream) {
      events.append(event.data)
      if events.count == 2 { break }
    }
    #expect(events == ["one", "two"])
    // The server has got each request once, and one further request because of the redirect.
    #expect(heads.now.count == 8)
    #expect(heads.now.count { $0.hasPrefix("POST ") } == 1)
  }

  @Test func `a proxy that refuses the credential is the response`() async throws {
    let server = try ScriptedServer { connection, _ in
      while connection.readHead() != nil {
        connection.write(
          "HTTP/1.1 407 Asks\r\nProxy-Authenticate: Basic realm=\"p\"\r\nContent-Length: 4\r\n\r\nasks")
      }
    }
    defer { server.stop() }
    let credential = HTTPCredential(user: "pu", password: "pp")
    let session = try session(.http("127.0.0.1", port: Int(server.port), credential: credential))
    let url = try #require(URL(string: "http://origin.test/x"))
    let reply = try await session.data(for: url)
    #expect(reply.response.status.code == 407 && reply.value == Data("asks".utf8))
  }

  // MARK: squid

  @Test func `requests with http and https go through squid, by HTTP and by HTTPS`() async throws {
    let server = try NginxServer(server: Self.remote, certificate: chain)
    let squid = try SquidServer(certificate: chain)
    for proxy in [
      HTTPProxy.http("127.0.0.1", port: squid.port), .http("localhost", port: squid.port),
      .https("127.0.0.1", port: squid.tlsPort), .https("localhost.", port: squid.tlsPort),
    ] {
      let session = try session(proxy)
      for url in [server.url, server.tlsURL(), server.tlsURL(host: "localhost")] {
        // The second request uses an existing connection.
        for _ in 0..<2 { #expect(try await remote(url, session) == "\(SquidServer.address) ", "\(proxy) \(url)") }
      }
    }
    #expect(try await remote(server.tlsURL(), session(.direct)) == "127.0.0.1 ")
  }

  @Test func `squid is shown its credential, and the server is not`() async throws {
    let server = try NginxServer(server: Self.remote, certificate: chain)
    let squid = try SquidServer(certificate: chain, asksForPassword: true)
    for scheme in [HTTPCredential.Scheme.basic, .any] {
      let credential = HTTPCredential(user: "ali", password: "sesame", scheme: scheme)
      for proxy in [
        HTTPProxy.http("127.0.0.1", port: squid.port, credential: credential),
        .https("127.0.0.1", port: squid.tlsPort, credential: credential),
      ] {
        let session = try session(proxy)
        for url in [server.url, server.tlsURL()] {
          #expect(try await remote(url, session) == "\(SquidServer.address) ", "\(proxy) \(url)")
        }
      }
    }
  }

  @Test func `squid's refusal of a credential is told`() async throws {
    let server = try NginxServer(server: Self.remote, certificate: chain)
    let squid = try SquidServer(certificate: chain, asksForPassword: true)
    for credential in [nil, HTTPCredential(user: "ali", password: "open", scheme: .basic)] {
      let session = try session(.http("127.0.0.1", port: squid.port, credential: credential))
      let error = try await failure(server.tlsURL(), session)
      #expect(error.kind == .cannotConnect)
      #expect(error.message.hasPrefix("the proxy answers 407"), "\(error)")
      let reply = try await session.data(for: HTTPRequest(.get, to: server.url), options: .init())
      #expect(reply.response.status.code == 407)
    }
  }

  @Test func `exceptions are reached without the proxy`() async throws {
    let server = try NginxServer(server: Self.remote)
    let closed = try LoopbackPort()
    let session = try session(
      .http("127.0.0.1", port: Int(closed.number), exceptions: ["127.0.0.0/8", "good.localhost"]))
    for host in ["127.0.0.1", "good.localhost", "a.good.localhost"] {
      #expect(try await remote(plain(server, host: host), session) == "127.0.0.1 ", "\(host)")
    }
    #expect(try await failure(plain(server, host: "bad.localhost"), session).kind == .cannotConnect)
  }

  /// Tests a proxy and a host that have the same address.
  @Test func `the certificate of a proxy is judged by the policy of the session, not by the host's`() async throws {
    let server = try NginxServer(server: Self.remote, certificate: chain)
    let other = try CertificateAuthority()
    let otherChain = try other.chain(other.issue("proxy"))
    let squid = try SquidServer(certificate: otherChain)
    let proxy = HTTPProxy.https("127.0.0.1", port: squid.tlsPort)
    let otherPolicy = try SecurityPolicy(.none, roots: .certificates(X509Certificate.load(other.root.certificate)))
    // The host's policy trusts only the host, and the session's policy trusts only the proxy.
    for version in [HTTPVersion.http1_1, .http2] {
      let session = try session(proxy, policy: otherPolicy) {
        $0.hostPolicies = ["127.0.0.1": self.policy]
        $0.httpVersion = version
        $0.maximumIdleTime = .zero
      }
      for _ in 0..<3 { #expect(try await remote(server.tlsURL(), session) == "\(SquidServer.address) ") }
      // A request with http goes through the same proxy.
      #expect(try await remote(server.url, session) == "\(SquidServer.address) ")
    }
    let swapped = try session(proxy, policy: policy) { $0.hostPolicies = ["127.0.0.1": otherPolicy] }
    for url in [server.tlsURL(), server.url] {
      let error = try await failure(url, swapped)
      #expect(error.tlsFailure?.reason == .unknownAuthority, "\(url)")
      #expect(error.tlsFailure?.issuer == "CN=Test Root")
    }
    // The proxy is trusted, and the host is not.
    let strict = try session(proxy, policy: otherPolicy) {
      $0.hostPolicies = [
        "127.0.0.1": (try? SecurityPolicy(.certificate, pins: X509Certificate.load(other.root.certificate))) ?? .system
      ]
    }
    #expect(try await failure(server.tlsURL(), strict).tlsFailure?.reason == .noPinMatched)
    // If hosts without a policy are refused, the session's policy still counts for the proxy.
    let closed = try session(proxy, policy: otherPolicy) {
      $0.hostPolicies = ["127.0.0.1": self.policy]
      $0.refusesHostsWithoutPolicy = true
    }
    #expect(try await remote(server.tlsURL(), closed) == "\(SquidServer.address) ")
  }

  @Test func `what the environment names is a proxy, and may speak TLS`() throws {
    func proxies(_ variables: [String: String]) -> CurlProxies { CurlProxies { variables[$0] } }
    #expect(proxies([:]).proxy(isSecure: true) == nil)
    #expect(proxies(["http_proxy": "one:3128"]).proxy(isSecure: false) == Authority("one", 3_128))
    #expect(proxies(["http_proxy": "one:3128"]).proxy(isSecure: true) == nil)
    #expect(proxies(["ALL_PROXY": "socks5h://two"]).proxy(isSecure: true) == Authority("two", 1_080))
    #expect(!proxies(["ALL_PROXY": "socks5h://two", "https_proxy": "http://one"]).maySpeakTLS)
    #expect(proxies(["https_proxy": "HTTPS://one"]).maySpeakTLS)
    #expect(proxies(["http_proxy": "one", "all_proxy": "https://two"]).maySpeakTLS)
    #expect(try CurlProxies(.direct).proxy(isSecure: true) == nil)
  }

  // MARK: SOCKS

  @Test func `microsocks is used, with a password and without`() async throws {
    let server = try NginxServer(server: Self.remote, certificate: chain)
    let open = try MicrosocksServer()
    let closed = try MicrosocksServer(credential: ("ali", "sesame"))
    let local = HTTPProxy.socks5("localhost", port: open.port, looksUpNames: true)
    for proxy in [
      .socks5("127.0.0.1", port: open.port), local,
      .socks5("127.0.0.1", port: closed.port, credential: HTTPCredential(user: "ali", password: "sesame")),
    ] {
      let session = try session(proxy)
      // libcurl 8.14 passes only the first address of localhost to a proxy. That address is ::1, and this server
      // listens on 127.0.0.1.
      let isFirst = CurlLibrary.version < 0x08_0e00 || proxy != local
      for url in [server.url] + (isFirst ? [server.tlsURL(host: "localhost")] : []) {
        for _ in 0..<2 { #expect(try await remote(url, session) == "\(MicrosocksServer.address) ", "\(proxy) \(url)") }
      }
    }
    for credential in [nil, HTTPCredential(user: "ali", password: "open")] {
      let session = try session(.socks5("127.0.0.1", port: closed.port, credential: credential))
      let error = try await failure(server.url, session)
      #expect(error.kind == .cannotConnect, "\(error)")
      #expect(error.message.hasPrefix("the SOCKS proxy does not connect: "), "\(error)")
    }
  }

  /// Tests names below `invalid`, which have no addresses anywhere (RFC 6761, section 6.4). Only the session's own
  /// overrides can supply one.
  @Test func `names are looked up by the proxy, unless the session is to`() async throws {
    let server = try NginxServer(server: Self.remote, certificate: chain)
    let socks = try MicrosocksServer()
    let loopback = InternetAddress.v4(0x7f00_0001)
    let local = try session(.socks5("127.0.0.1", port: socks.port, looksUpNames: true)) {
      $0.addressOverrides = ["a.invalid": [loopback]]
    }
    #expect(try await remote(server.tlsURL(host: "a.invalid"), local) == "\(MicrosocksServer.address) ")
    let remotely = try session(.socks5("127.0.0.1", port: socks.port)) {
      $0.addressOverrides = ["a.invalid": [loopback]]
    }
    let error = try await failure(server.tlsURL(host: "a.invalid"), remotely)
    #expect(error.kind == .cannotConnect, "\(error)")
    let missing = try session(.socks5("127.0.0.1", port: socks.port, looksUpNames: true))
    #expect(try await failure(server.tlsURL(host: "a.invalid"), missing).kind == .notResolved)
  }

  @Test func `the name of a proxy is looked up by the session`() async throws {
    let server = try NginxServer(server: Self.remote, certificate: chain)
    let squid = try SquidServer(certificate: chain)
    let socks = try MicrosocksServer()
    for (proxy, address) in [
      (HTTPProxy.http("proxy.invalid", port: squid.port), SquidServer.address),
      (.socks5("PROXY.invalid.", port: socks.port), MicrosocksServer.address),
      (.socks5("proxy.invalid", port: socks.port, looksUpNames: true), MicrosocksServer.address),
    ] {
      let session = try session(proxy) {
        $0.addressOverrides = ["proxy.invalid": [.v4(0x7f00_0001)], "a.invalid": [.v4(0x7f00_0001)]]
      }
      #expect(try await remote(server.tlsURL(), session) == "\(address) ", "\(proxy)")
      let error = try await failure(server.tlsURL(), self.session(proxy))
      #expect(error.kind == .notResolved, "\(error)")
      #expect(error.message.lowercased().contains("proxy.invalid"), "\(error)")
    }
  }

  // MARK: Refused

  @Test func `a proxy that cannot be used is refused when the session is made`() throws {
    let long = HTTPCredential(user: String(repeating: "x", count: 256), password: "")
    for proxy in [
      HTTPProxy.http("", port: 1), .http("fe80::1%lo", port: 1), .http("http://proxy", port: 1), .http("a b", port: 1),
      .http("proxy", port: 0),
      .http("proxy", port: 65_536), .http("proxy", port: 1, exceptions: ["a,b"]),
      .http("proxy", port: 1, exceptions: [""]),
      .http("proxy", port: 1, credential: HTTPCredential(user: "a\r\nX: y", password: "")),
      .socks5("proxy", port: 1, credential: long),
    ] {
      let error = #expect(throws: HTTPError.self) { try session(proxy) }
      #expect(error?.kind == .badConfiguration, "\(proxy)")
      #expect(error?.message.hasPrefix("proxy: ") ?? false)
    }
    #expect(throws: Never.self) { try session(.http("::1", port: 1, credential: long)) }
  }
}
