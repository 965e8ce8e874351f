import Foundation
import HTTPTypes
import Testing

@testable import NetwatchHTTP

/// What becomes of compressed bodies, and how many bytes of one are kept.
@Suite(.timeLimit(.minutes(5))) struct ContentCodingTests {
  private let session: HTTPSessionManager

  init() throws { session = try HTTPSessionManager() }

  private static func gzip(_ count: Int) throws -> Data {
    let folder = try TemporaryFolder()
    try Programs.run(["sh", "-c", "head -c \(count) /dev/zero | gzip >zeros.gz"], in: folder.url)
    return try Data(contentsOf: folder.file("zeros.gz"))
  }

  /// Answers `/CODING` with the same body in that coding, and tells of each request's head.
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
    let file = try await session.download(request, to: .file(folder.file("zeros")), options: options).value
    #expect(try Data(contentsOf: file).count == 1_000_000)
    var count = 0
    for try await part in try await session.stream(request, options: options).body { count += part.count }
    #expect(count == 1_000_000)
  }
}
