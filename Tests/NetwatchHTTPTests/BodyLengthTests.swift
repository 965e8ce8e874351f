import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests that a body is sent with the length that it has declared, even if its source has become longer or shorter
/// since.
@Suite(.timeLimit(.minutes(5))) struct BodyLengthTests {
  private let session: HTTPSessionManager

  init() throws { session = try HTTPSessionManager() }

  /// Starts a server that answers each request with the number of its connection, the first five characters of its
  /// head, and its body.
  private static func server() throws -> ScriptedServer {
    try ScriptedServer { connection, number in
      while let head = connection.readHead() {
        let length = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
          .flatMap { Int($0.dropFirst(16)) }
        guard let body = connection.read(length ?? 0) else { return }
        let text = "\(number) \(head.prefix(5))\(String(decoding: body, as: UTF8.self))"
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
      }
    }
  }

  private func send(_ body: HTTPBody, to server: ScriptedServer) async throws -> String {
    let reply = try await session.upload(body, with: HTTPRequest(.put, to: server.url))
    return String(decoding: reply.value, as: UTF8.self)
  }

  private func parts(_ texts: [String]) -> AsyncStream<Data> {
    AsyncStream { continuation in
      for text in texts { continuation.yield(Data(text.utf8)) }
      continuation.finish()
    }
  }

  @Test func `a file that has grown is cut, and the connection goes on`() async throws {
    let server = try Self.server()
    defer { server.stop() }
    let folder = try TemporaryFolder()
    let body = try HTTPBody.file(folder.write("0123456789", to: "log"))
    try folder.write("0123456789GET /smuggled HTTP/1.1\r\n\r\n", to: "log")
    for _ in 0..<2 { #expect(try await send(body, to: server) == "0 PUT /0123456789") }
  }

  @Test(arguments: [["01234567", "89 and more", "and more"], ["0123456789", "and more"]])
  func `a sequence that has more is cut, and the connection goes on`(_ texts: [String]) async throws {
    let server = try Self.server()
    defer { server.stop() }
    for _ in 0..<2 {
      #expect(try await send(.sequence(parts(texts), length: 10), to: server) == "0 PUT /0123456789")
    }
  }

  @Test func `a file that has shrunk fails the request, and closes the connection`() async throws {
    let server = try Self.server()
    defer { server.stop() }
    let folder = try TemporaryFolder()
    let body = try HTTPBody.file(folder.write("0123456789", to: "log"))
    try folder.write("0123", to: "log")
    try await expectFailure(body, "it ends 6 bytes before the length that was declared", server)
  }

  @Test(arguments: [[], ["0123"]])
  func `a sequence that has less fails the request, and closes the connection`(_ texts: [String]) async throws {
    let server = try Self.server()
    defer { server.stop() }
    let left = 10 - texts.joined().count
    try await expectFailure(
      .sequence(parts(texts), length: 10), "it ends \(left) bytes before the length that was declared", server)
  }

  private func expectFailure(_ body: HTTPBody, _ message: String, _ server: ScriptedServer) async throws {
    let error = await #expect(throws: HTTPError.self) { try await send(body, to: server) }
    #expect(error?.kind == .cannotEncodeRequest)
    #expect(error?.message == message)
    #expect(try await send(.data(Data("next".utf8)), to: server) == "1 PUT /next")
  }
}
