import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of requests whose connection ends before an answer. libcurl would send such a request once more.
@Suite(.timeLimit(.minutes(5))) struct RepetitionTests {
  private let session: HTTPSessionManager

  init() throws { session = try HTTPSessionManager() }

  /// Starts a server that answers `GET /first`, and closes its first connection when another request comes over it. It
  /// answers every request on further connections.
  private static func server(_ seen: Box<[String]>, resets: Bool) throws -> ScriptedServer {
    try ScriptedServer { connection, number in
      while let head = connection.readHead() {
        seen.change { $0.append(String(head.prefix { $0 != " " })) }
        if head.contains("Content-Length: 4") { _ = connection.readUntil(Data("body".utf8)) }
        if number == 0, !head.hasPrefix("GET /first") { return resets ? connection.reset() : connection.close() }
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      }
    }
  }

  private func send(
    _ method: HTTPRequest.Method, _ body: HTTPBody?, resets: Bool, _ options: HTTPTaskOptions = .init()
  ) async throws -> (seen: [String], failure: HTTPError?) {
    let seen = Box<[String]>([])
    let server = try Self.server(seen, resets: resets)
    defer { server.stop() }
    _ = try await session.data(for: HTTPRequest(.get, to: server.url.appending(path: "first")))
    do throws(HTTPError) {
      _ = try await session.data(for: HTTPRequest(method, to: server.url), body: body, options: options)
      return (seen.now, nil)
    } catch { return (seen.now, error) }
  }

  private static let bodies: [(what: String, body: HTTPBody?)] = [
    ("none", nil), ("bytes", .data(Data("body".utf8))),
  ]

  @Test(arguments: [HTTPRequest.Method.post, .patch], [0, 1])
  func `a POST or PATCH is not sent twice after a loss`(_ method: HTTPRequest.Method, _ body: Int) async throws {
    for resets in [false, true] {
      let (seen, failure) = try await send(method, Self.bodies[body].body, resets: resets)
      #expect(seen == ["GET", method.rawValue])
      #expect(failure?.kind == .connectionLost)
      #expect(failure?.message.hasSuffix("a \(method.rawValue) is not sent twice") == true)
    }
  }

  @Test(arguments: [HTTPRequest.Method.get, .put, .delete], [0, 1])
  func `a GET, PUT or DELETE is sent again after a loss`(_ method: HTTPRequest.Method, _ body: Int) async throws {
    for resets in [false, true] {
      let (seen, failure) = try await send(method, Self.bodies[body].body, resets: resets)
      #expect(seen == ["GET", method.rawValue, method.rawValue] && failure == nil)
    }
  }

  @Test func `a POST is sent again if the caller allows repetition`() async throws {
    var options = HTTPTaskOptions()
    options.allowsRepetition = true
    let (seen, failure) = try await send(.post, .data(Data("body".utf8)), resets: true, options)
    #expect(seen == ["GET", "POST", "POST"] && failure == nil)
  }

  @Test(arguments: [0, 1]) func `nor is it if the addresses of its host have expired meanwhile`(
    _ body: Int
  ) async throws {
    let (seen, mayEnd) = (Box<[String]>([]), Gate())
    let server = try ScriptedServer { connection, number in
      while let head = connection.readHead() {
        seen.change { $0.append(String(head.prefix { $0 != " " })) }
        if head.contains("Content-Length: 4") { _ = connection.readUntil(Data("body".utf8)) }
        if number == 0, head.hasPrefix("POST") { return mayEnd.pass() }
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      }
    }
    defer { server.stop() }
    var configuration = HTTPSessionConfiguration()
    configuration.addressOverrides = try ["api.test": [#require(InternetAddress("127.0.0.1"))]]
    let session = try HTTPSessionManager(
      baseURL: URL(string: "http://api.test:\(server.port)/"), configuration: configuration)
    _ = try await session.data(for: "first")
    let post = Task { try await session.data(for: HTTPCall(.post, "second", body: Self.bodies[body].body)) }
    try await eventually(seen.now.count) { $0 == 2 }
    let host = try #require(Authority("api.test:\(server.port)"))
    session.engines.handles[0].run { $0.curl?.forget([host]) }
    _ = try await session.data(for: HTTPRequest(.get, to: server.url))
    mayEnd.open()
    let error = await #expect(throws: HTTPError.self) { try await post.value }
    #expect(error?.kind == .connectionLost)
    #expect(seen.now == ["GET", "POST", "GET"])
  }

  @Test func `nor is what is sent after a challenge`() async throws {
    let seen = Box<[String]>([])
    let server = try ScriptedServer { connection, number in
      while let head = connection.readHead() {
        let isSigned = head.lowercased().contains("authorization:")
        seen.change { $0.append(isSigned ? "signed" : "unsigned") }
        if head.contains("Content-Length: 4") { _ = connection.readUntil(Data("body".utf8)) }
        if isSigned, number == 0 { return connection.reset() }
        let challenge = "401 Unauthorized\r\nWWW-Authenticate: Digest realm=\"it\", nonce=\"1\", qop=\"auth\""
        connection.write("HTTP/1.1 \(isSigned ? "200 OK" : challenge)\r\nContent-Length: 2\r\n\r\nok")
      }
    }
    defer { server.stop() }
    var options = HTTPTaskOptions()
    options.credential = HTTPCredential(user: "ali", password: "open sesame", scheme: .digest)
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(
        for: HTTPRequest(.post, to: server.url), body: .data(Data("body".utf8)), options: options)
    }
    #expect(error?.kind == .connectionLost)
    #expect(seen.now.count { $0 == "signed" } == 1)
  }

  // MARK: HTTP/2

  private static func nginx(_ location: String) throws -> (server: NginxServer, policy: SecurityPolicy) {
    let authority = try CertificateAuthority()
    let server = try NginxServer(server: location, certificate: authority.chain(authority.issue("leaf")))
    return try (server, SecurityPolicy(.none, roots: .certificates(X509Certificate.load(authority.root.certificate))))
  }

  /// Checks that a request is sent again if the server says that it has not begun it.
  @Test func `a server that says goodbye now and then loses no POST, and sees none twice`() async throws {
    let (server, policy) = try Self.nginx(
      "keepalive_requests 20; location /bye/ { default_type text/plain; return 200 bye; }")
    let session = try HTTPSessionManager(baseURL: server.tlsURL(), policy: policy)
    let requests = try (0..<200).map { try HTTPRequest(.post, to: session.url(for: "bye/\($0)")) }
    let replies = await session.batch(requests, limit: 10)
    #expect(try replies.map { try $0.get().value } == Array(repeating: Data("bye".utf8), count: 200))
    let places = try await server.log(lines: 200).map { $0.split(separator: " ")[1] }
    #expect(Set(places).count == 200)
  }

  @Test(arguments: [0, 1]) func `a connection that is closed in good order repeats no POST`(_ body: Int) async throws {
    let server = try NodeServer(
      """
      let posts = 0;
      const sockets = [];
      server.on('secureConnection', socket => sockets.push(socket.on('error', () => {})));
      server.on('sessionError', () => {});
      server.on('stream', (stream, headers) => {
        stream.on('error', () => {});
        if (headers[':method'] === 'POST' && ++posts === 1) return stream.resume().on('end', () => sockets[0].end());
        stream.respond({ ':status': 200 });
        stream.end(String(posts));
      });
      """)
    let session = try server.session()
    _ = try await session.data(for: HTTPRequest(.get, to: server.url))
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.post, to: server.url), body: Self.bodies[body].body)
    }
    #expect(error?.kind == .connectionLost)
    let posts = try await session.data(for: HTTPRequest(.get, to: server.url))
    #expect(String(decoding: posts.value, as: UTF8.self) == "1")
  }

  @Test(arguments: [0, 1]) func `a connection that many share and that breaks off repeats no POST`(
    _ body: Int
  ) async throws {
    let seen = Box<[String]>([])
    let behind = try ScriptedServer { connection, _ in
      guard let head = connection.readHead() else { return }
      seen.change { $0.append(String(head.prefix { $0 != "\r" })) }
      if seen.now.count <= 20 { return connection.waitForEnd() }
      connection.write("HTTP/1.0 200 OK\r\n\r\nok")
    }
    defer { behind.stop() }
    let (server, policy) = try Self.nginx(
      "location /behind/ { proxy_pass http://127.0.0.1:\(behind.port); proxy_ignore_client_abort on; }")
    let relay = try RelayServer(to: UInt16(server.tlsURL().port ?? 0))
    let session = try HTTPSessionManager(baseURL: URL(string: "https://127.0.0.1:\(relay.port)/"), policy: policy)
    _ = try await session.data(for: HTTPRequest(.get, to: session.url(for: "method")))
    let ends = Box<[HTTPError.Kind?]>([])
    for number in 0..<20 {
      let request = try HTTPRequest(.post, to: session.url(for: "behind/\(number)"))
      session.dataTask(request, body: Self.bodies[body].body) { result in
        ends.change { ends in
          if case .failure(let error) = result { ends.append(error.kind) } else { ends.append(nil) }
        }
      }.resume()
    }
    try await eventually(seen.now.count) { $0 == 20 }
    relay.cut()
    session.finishTasksAndInvalidate()
    await session.waitUntilInvalidated()
    #expect(ends.now == Array(repeating: .connectionLost, count: 20))
    #expect(seen.now.count == 20, "\(seen.now)")
  }
}
