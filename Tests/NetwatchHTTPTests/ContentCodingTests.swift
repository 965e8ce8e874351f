import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of how compressed bodies are decoded, and how many of their bytes are kept.
@Suite(.timeLimit(.minutes(5))) struct ContentCodingTests {
  private let session: HTTPSessionManager

  init() throws { session = try HTTPSessionManager() }

  private static func gzip(_ count: Int) throws -> Data {
    let folder = try TemporaryFolder()
    try Programs.run(["sh", "-c", "head -c \(count) /dev/zero | gzip >zeros.gz"], in: folder.url)
    return try Data(contentsOf: folder.url("zeros.gz"))
  }

  /// Starts a server that answers `/CODING` with this body and `Content-Encoding: CODING`. It appends the head of each
  /// request to `heads`.
  private static func server(_ body: Data, _ heads: Box<[String]> = Box([])) throws -> ScriptedServer {
    try ScriptedServer { connection, _ in
      while let head = connection.readHead() {
        heads.change { $0.append(head) }
        let coding = head.split(separator: " ")[1].dropFirst().replacing("%20", with: " ")
        connection.write(
          "HTTP/1.1 200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)\r\n\r\n")
        connection.write(body)
      }
    }
  }

  private func get(
    _ coding: String, of server: ScriptedServer, _ fields: HTTPFields = [:], _ options: HTTPTaskOptions = .init()
  ) async throws -> HTTPReply<Data> {
    let url = server.url.appending(path: coding)
    return try await session.data(for: HTTPRequest(.get, to: url, headerFields: fields), options: options)
  }

  @Test func `an unknown coding is left on, with its field, and without a second request`() async throws {
    let body = try Self.gzip(1_000)
    let heads = Box<[String]>([])
    let server = try Self.server(body, heads)
    defer { server.stop() }
    for coding in ["aes128gcm", "gzip, Aes128gcm", "aes128gcm"] {
      let reply = try await get(coding, of: server)
      #expect(reply.value == body)
      #expect(reply.response.headerFields[.contentEncoding] == coding)
      #expect(try await get("gzip", of: server).value == Data(repeating: 0, count: 1_000))
    }
    #expect(heads.now.count == 6)
  }

  @Test func `a part is asked for as it is`() async throws {
    let body = Data("part".utf8)
    let heads = Box<[String]>([])
    let server = try Self.server(body, heads)
    defer { server.stop() }
    _ = try await get("identity", of: server)
    #expect(try await get("gzip", of: server, [.range: "bytes=0-3"]).value == body)
    #expect(try await get("gzip", of: server, [.range: "bytes=0-3", .acceptEncoding: "gzip"]).value == body)
    let asked = heads.now.map { head in
      head.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("accept-encoding:") }
    }
    #expect(asked[0].count == 1 && asked[0][0].contains("gzip"))
    #expect(asked[1] == ["Accept-Encoding: identity"])
    #expect(asked[2] == ["Accept-Encoding: gzip"])
  }

  @Test func `a body that is kept in memory has a maximum`() async throws {
    let server = try Self.server(Self.gzip(65 * 1_024 * 1_024))
    defer { server.stop() }
    let error = await #expect(throws: HTTPError.self) { try await get("gzip", of: server) }
    #expect(error?.kind == .responseTooLarge)
    #expect(error?.message == "more than 67108864 bytes")
    var options = HTTPTaskOptions()
    options.maximumBytesInMemory = .max
    #expect(try await get("gzip", of: server, [:], options).value.count == 65 * 1_024 * 1_024)
    options.maximumBytesInMemory = 10
    #expect(
      await #expect(throws: HTTPError.self) { try await get("gzip", of: server, [:], options) }?.kind
        == .responseTooLarge)
  }

  @Test func `a file and a stream have no maximum by themselves`() async throws {
    let server = try Self.server(Self.gzip(1_000_000))
    defer { server.stop() }
    let folder = try TemporaryFolder()
    var options = HTTPTaskOptions()
    options.maximumBytesInMemory = 1_000
    let request = try HTTPRequest(.get, to: server.url.appending(path: "gzip"))
    let file = try await session.download(request, to: .file(folder.url("zeros")), options: options).value
    #expect(try Data(contentsOf: file).count == 1_000_000)
    var count = 0
    for try await part in try await session.stream(request, options: options).body { count += part.count }
    #expect(count == 1_000_000)
  }

  /// Starts a server that answers each request with the head and body that `answer` returns for its path. If the head
  /// states no length, the server closes the connection after the body.
  private static func server(answering answer: @escaping @Sendable (String) -> (head: String, body: Data)) throws
    -> ScriptedServer
  {
    try ScriptedServer { connection, _ in
      while let head = connection.readHead() {
        let (fields, body) = answer(String(head.split(separator: " ")[1].dropFirst()))
        connection.write("HTTP/1.1 \(fields)\r\n\r\n")
        connection.write(body)
        if !fields.contains("Content-Length"), !fields.contains("chunked"), !fields.hasPrefix("204") { return }
      }
    }
  }

  private static func chunked(_ body: Data) -> Data {
    var data = Data()
    for start in stride(from: 0, to: body.count, by: 1_000) {
      let part = body[start..<min(start + 1_000, body.count)]
      data += Data("\(String(part.count, radix: 16))\r\n".utf8) + part + Data("\r\n".utf8)
    }
    return data + Data("0\r\n\r\n".utf8)
  }

  @Test(arguments: Compressor.allCases) func `a compressed body without its end is an error`(
    _ compressor: Compressor
  ) async throws {
    let text = Data((0..<5_000).map { "line \($0)\n" }.joined().utf8)
    let (whole, coding) = (compressor.compress(text), compressor.coding.rawValue)
    let server = try Self.server { path in
      let body = path.hasPrefix("whole") ? whole : whole.dropLast(20)
      return switch path.split(separator: "-").last {
      case "length": ("200 OK\r\nContent-Encoding: \(coding)\r\nContent-Length: \(body.count)", Data(body))
      case "chunked": ("200 OK\r\nContent-Encoding: \(coding)\r\nTransfer-Encoding: chunked", Self.chunked(Data(body)))
      case "transfer": ("200 OK\r\nTransfer-Encoding: \(coding), chunked", Self.chunked(Data(body)))
      default: ("200 OK\r\nContent-Encoding: \(coding)", Data(body))
      }
    }
    defer { server.stop() }
    let folder = try TemporaryFolder()
    for framing in ["length", "chunked", "transfer", "close"] {
      if framing == "transfer", await refusesTransferCodings(server) { continue }
      #expect(try await get("whole-\(framing)", of: server).value == text)
      let error = await #expect(throws: HTTPError.self) { try await get("half-\(framing)", of: server) }
      #expect(error?.kind == .cannotDecodeContentData && error?.response?.status == .ok)
      let request = try HTTPRequest(.get, to: server.url.appending(path: "half-\(framing)"))
      let file = folder.url("file")
      let download = await #expect(throws: HTTPError.self) { try await session.download(request, to: .file(file)) }
      #expect(download?.kind == .cannotDecodeContentData)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
      let stream = await #expect(throws: HTTPError.self) {
        for try await _ in try await session.stream(request).body {}
      }
      #expect(stream?.kind == .cannotDecodeContentData)
    }
  }

  /// Whether libcurl refuses a transfer coding that the request has not asked for, as libcurl 8.14 does.
  private func refusesTransferCodings(_ server: ScriptedServer) async -> Bool {
    do {
      _ = try await get("whole-transfer", of: server)
      return false
    } catch {
      return (error as? HTTPError)?.message.contains("Unsolicited Transfer-Encoding") == true
    }
  }

  @Test func `a body with an unknown transfer coding is an error, and its head is none`() async throws {
    let server = try Self.server { _ in
      ("200 OK\r\nTransfer-Encoding: gzip, braille, chunked", Self.chunked(Data("text".utf8)))
    }
    defer { server.stop() }
    let error = await #expect(throws: HTTPError.self) { try await get("", of: server) }
    #expect(error?.kind == .cannotDecodeContentData)
    let words = ["it has a transfer coding that is not known here", "Unsolicited Transfer-Encoding (gzip) found"]
    #expect(error.map { words.contains($0.message) } == true, "\(String(describing: error))")
    #expect(try await session.data(for: HTTPRequest(.head, to: server.url)).response.status == .ok)
  }

  @Test func `a lost connection is reported as such, not as a damaged compressed body`() async throws {
    let body = try Self.gzip(100_000)
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(body.count)\r\n\r\n")
      connection.write(body.dropLast(20))
    }
    defer { server.stop() }
    let error = await #expect(throws: HTTPError.self) { try await get("", of: server) }
    #expect(error?.kind == .connectionLost)
  }

  @Test(arguments: [
    (HTTPRequest.Method.head, "200 OK\r\nContent-Length: 1000"), (.get, "200 OK\r\nContent-Length: 0"),
    (.get, "200 OK\r\nTransfer-Encoding: chunked"), (.get, "204 No Content"),
    (.get, "304 Not Modified\r\nContent-Length: 9"),
  ])
  func `no body at all is whole`(_ method: HTTPRequest.Method, _ head: String) async throws {
    let server = try Self.server { _ in
      ("\(head)\r\nContent-Encoding: gzip", head.contains("chunked") ? Data("0\r\n\r\n".utf8) : Data())
    }
    defer { server.stop() }
    for _ in 0..<2 {
      #expect(try await session.data(for: HTTPRequest(method, to: server.url)).value.isEmpty)
    }
  }

  @Test func `a slow reader gets all of it`() async throws {
    let (body, count) = (try Self.gzip(20_000_000), 20_000_000)
    let server = try Self.server(body)
    defer { server.stop() }
    let reply = try await session.stream(HTTPRequest(.get, to: server.url.appending(path: "gzip")))
    var received = 0
    for try await part in reply.body {
      #expect(part.allSatisfy { $0 == 0 })
      received += part.count
      // The session's thread answers this only after it has done all that it can do at the moment.
      if received < 1_000_000 { _ = await session.tasks() }
    }
    #expect(received == count)
  }

  @Test func `a body that is damaged is an error, and the next one is not`() async throws {
    let server = try Self.server(Self.gzip(1_000))
    defer { server.stop() }
    for coding in ["br", "zstd", "gzip,gzip"] {
      let error = await #expect(throws: HTTPError.self) { try await get(coding, of: server) }
      #expect(error?.kind == .cannotDecodeContentData && error?.operation.hasPrefix("decompress ") == true)
      #expect(try await get("gzip", of: server).value == Data(repeating: 0, count: 1_000))
    }
  }
}
