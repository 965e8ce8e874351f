import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite(.timeLimit(.minutes(5))) struct RequestTests {
  private let server: NginxServer
  private let observer = RecordingObserver()
  private let session: HTTPSessionManager

  init() throws {
    server = try NginxServer()
    session = try HTTPSessionManager(baseURL: server.url, observer: observer)
  }

  private func request(_ method: HTTPRequest.Method, _ path: String) throws -> HTTPRequest {
    try HTTPRequest(method, to: session.url(for: path))
  }

  @Test func `a request that is awaited brings head, body and metrics, and begins and ends once`() async throws {
    try server.serve("hello", as: "hello.txt")
    let reply = try await session.data(for: request(.get, "hello.txt"))
    #expect(reply.response.status == .ok)
    #expect(reply.response.headerFields[.contentType] == "text/plain")
    #expect(String(decoding: reply.value, as: UTF8.self) == "hello")
    #expect(reply.metrics.protocolVersion == "1.1")
    #expect(reply.metrics.total > .zero)
    #expect(reply.metrics.bytesReceived == 5)
    #expect(observer.all == [.began(isIndicated: true), .ended])
  }

  @Test func `a request with a callback begins when it is resumed, and its end comes after the callback`() async throws
  {
    try server.serve("hello", as: "hello.txt")
    let seen = Box<[RecordingObserver.Event]?>(nil)
    let result = Box<Result<HTTPReply<Data>, HTTPError>?>(nil)
    let task = session.dataTask(try request(.get, "hello.txt")) { [observer] outcome in
      seen.change { $0 = observer.all }
      result.change { $0 = outcome }
    }
    #expect(task.state == .suspended)
    task.resume()
    let outcome = try await eventually(result.now) { $0 != nil }
    #expect(try outcome?.get().value == Data("hello".utf8))
    #expect(try await observer.first(2) == [.began(isIndicated: true), .ended])
    #expect(seen.now == [.began(isIndicated: true)])
    #expect(task.state == .finished)
    #expect(task.progress.received == 5)
    #expect(task.progress.totalToReceive == 5)
  }

  @Test(arguments: [
    HTTPRequest.Method.get, .post, .put, .patch, .delete, .options,
  ]) func `every method arrives as it is`(method: HTTPRequest.Method) async throws {
    let reply = try await session.data(for: request(method, "method"))
    #expect(String(decoding: reply.value, as: UTF8.self) == method.rawValue)
    let body = try await session.data(for: request(method, "method"), body: .data(Data("body".utf8)))
    #expect(String(decoding: body.value, as: UTF8.self) == method.rawValue)
  }

  @Test func `a HEAD has a head and no body`() async throws {
    try server.serve("hello", as: "hello.txt")
    let refused = await #expect(throws: HTTPError.self) {
      try await session.data(for: request(.head, "hello.txt"), body: .data(Data("body".utf8)))
    }
    #expect(refused?.kind == .cannotEncodeRequest)
    let reply = try await session.data(for: request(.head, "hello.txt"))
    #expect(reply.response.headerFields[.contentLength] == "5")
    #expect(reply.value.isEmpty)
  }

  @Test func `a body in memory arrives byte for byte`() async throws {
    let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    let reply = try await session.upload(.data(body), with: request(.put, "upload/data"))
    #expect(reply.response.status == .created)
    #expect(try Data(contentsOf: server.folder.url("files/upload/data")) == body)
  }

  @Test func `a file is sent as it is`() async throws {
    let body = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 37) })
    let file = try server.folder.write(body, to: "to-send")
    let progress = Box<[HTTPProgress]>([])
    var options = HTTPTaskOptions()
    options.onProgress = { step in progress.change { $0.append(step) } }
    _ = try await session.upload(.file(file), with: request(.put, "upload/file"), options: options)
    #expect(try Data(contentsOf: server.folder.url("files/upload/file")) == body)
    let last = try await eventually(progress.now.last) { $0?.sent == 3_000_000 }
    #expect(last?.totalToSend == 3_000_000)
    #expect(zip(progress.now, progress.now.dropFirst()).allSatisfy { $0.sent <= $1.sent })
  }

  // The length is smaller for HTTP/2 because nghttp2 sends no head of more than 64 KiB.
  @Test(arguments: [(HTTPVersion.http1_1, 150_000), (.http2, 60_000)])
  func `a head that is longer than libcurl's buffer arrives whole over TLS`(
    _ version: HTTPVersion, _ longest: Int
  ) async throws {
    let authority = try CertificateAuthority()
    let secure = try NginxServer(
      server: "large_client_header_buffers 4 256k; http2_max_field_size 256k; http2_max_header_size 256k;",
      certificate: authority.chain(authority.issue("leaf", names: "IP:127.0.0.1")))
    var configuration = HTTPSessionConfiguration()
    configuration.httpVersion = version
    let policy = try SecurityPolicy(.none, roots: .certificates(X509Certificate.load(authority.root.certificate)))
    let session = try HTTPSessionManager(baseURL: secure.tlsURL(), configuration: configuration, policy: policy)
    var request = try HTTPRequest(.get, to: session.url(for: "field"))
    for length in [40_000, 10, 16_384, longest, 10] {
      let value = String((0..<length).map { Character(Unicode.Scalar(UInt8(97 + $0 % 23))) })
      request.headerFields[try #require(HTTPField.Name("X-Field"))] = value
      #expect(try await session.data(for: request).value == Data(value.utf8))
    }
  }

  @Test func `a status that is no success is a reply like any other`() async throws {
    let reply = try await session.data(for: request(.get, "missing"))
    #expect(reply.response.status == .notFound)
    #expect(String(decoding: reply.value, as: UTF8.self) == "not here")
  }

  @Test func `no content, and not modified, have no body`() async throws {
    #expect(try await session.data(for: request(.get, "no-content")).response.status == .noContent)
    try server.serve("hello", as: "hello.txt")
    let first = try await session.data(for: request(.get, "hello.txt"))
    var again = try request(.get, "hello.txt")
    again.headerFields[.ifNoneMatch] = first.response.headerFields[.eTag]
    let reply = try await session.data(for: again)
    #expect(reply.response.status == .notModified)
    #expect(reply.value.isEmpty)
  }

  @Test func `a compressed body comes unpacked, and its length is not known before`() async throws {
    let text = String(repeating: "all work and no play. ", count: 1_000)
    try server.serve(text, as: "long.txt")
    let totals = Box<[Int64?]>([])
    var options = HTTPTaskOptions()
    options.executor = .immediate
    options.onProgress = { progress in totals.change { $0.append(progress.totalToReceive) } }
    let reply = try await session.data(for: request(.get, "gzip/long.txt"), options: options)
    #expect(reply.response.headerFields[.contentEncoding] == "gzip")
    #expect(String(decoding: reply.value, as: UTF8.self) == text)
    #expect(reply.metrics.bytesReceived < 2_000)
    #expect(!totals.now.isEmpty)
    #expect(totals.now.allSatisfy { $0 == nil })
  }

  @Test(
    arguments: [
      ("br", [0x0b, 0x02, 0x80, 0x68, 0x65, 0x6c, 0x6c, 0x6f, 0x03]),
      ("zstd", [0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x05, 0x29, 0x00, 0x00, 0x68, 0x65, 0x6c, 0x6c, 0x6f]),
      ("deflate", [0x78, 0x9c, 0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x06, 0x2c, 0x02, 0x15]),
    ] as [(String, [UInt8])])
  func `whatever libcurl asks for is unpacked`(_ encoding: String, _ body: [UInt8]) async throws {
    let asked = Box("")
    let server = try ScriptedServer { connection, _ in
      guard let head = connection.readHead() else { return }
      asked.change { $0 = head }
      connection.write(
        "HTTP/1.1 200 OK\r\nContent-Encoding: \(encoding)\r\nContent-Length: \(body.count)\r\n\r\n")
      connection.write(Data(body))
    }
    defer { server.stop() }
    let reply = try await session.data(for: HTTPRequest(.get, to: server.url))
    #expect(asked.now.contains("Accept-Encoding: deflate, gzip, br, zstd"))
    #expect(String(decoding: reply.value, as: UTF8.self) == "hello")
  }

  @Test func `a header of the session is sent unless the request has its own`() async throws {
    var configuration = HTTPSessionConfiguration()
    let name = try #require(HTTPField.Name("X-Field"))
    configuration.headerFields[name] = "session"
    let session = try HTTPSessionManager(baseURL: server.url, configuration: configuration)
    var request = try request(.get, "field")
    #expect(try await session.data(for: request).value == Data("session".utf8))
    request.headerFields[name] = "request"
    #expect(try await session.data(for: request).value == Data("request".utf8))
  }

  @Test func `connections are used again`() async throws {
    for _ in 0..<5 { _ = try await session.data(for: request(.get, "method")) }
    let reply = try await session.data(for: request(.get, "method"))
    #expect(reply.metrics.reusedConnection)
    let lines = try await server.log(lines: 6)
    #expect(Set(lines.compactMap { $0.split(separator: " ").first { $0.hasPrefix("connection=") } }).count == 1)
  }

  @Test func `nobody listens: the request fails with what happened`() async throws {
    let port = try LoopbackPort()
    defer { withExtendedLifetime(port) {} }
    let request = try HTTPRequest(.get, to: #require(URL(string: "http://127.0.0.1:\(port.number)/")))
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: request) }
    #expect(error?.kind == .cannotConnect)
    #expect(try await observer.first(2) == [.began(isIndicated: true), .ended])
  }

  @Test func `a request that opts out is not indicated`() async throws {
    var options = HTTPTaskOptions()
    options.isIndicated = false
    _ = try await session.data(for: request(.get, "method"), options: options)
    #expect(observer.all == [.began(isIndicated: false), .ended])
  }

  @Test func `a thousand requests at once all get their responses`() async throws {
    try server.serve(String(repeating: "x", count: 1_024), as: "kilo.txt")
    let request = try request(.get, "kilo.txt")
    let sizes = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<1_000 { group.addTask { [session] in try await session.data(for: request).value.count } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(sizes == Array(repeating: 1_024, count: 1_000))
    #expect(observer.all.count == 2_000)
  }
}
