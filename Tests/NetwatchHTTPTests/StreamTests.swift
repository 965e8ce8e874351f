import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite(.timeLimit(.minutes(5))) struct StreamTests {
  private let session: HTTPSessionManager

  init() throws { session = try HTTPSessionManager() }

  @Test func `the head is there before the body`() async throws {
    let goesOn = DispatchSemaphore(value: 0)
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      goesOn.wait()
      connection.write("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n")
      connection.waitForEnd()
    }
    defer { server.stop() }
    let stream = try await session.stream(HTTPRequest(.get, to: server.url))
    #expect(stream.response.status == .ok)
    goesOn.signal()
    var body = Data()
    for try await part in stream.body { body += part }
    #expect(body == Data("hello world".utf8))
  }

  @Test func `a server that is faster than the reader has to wait`() async throws {
    let total = 64 << 20
    let sent = Box(0)
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
      let part = Data(repeating: 1, count: 1 << 16)
      for _ in 0..<(total / part.count) {
        guard connection.write(part) else { return }
        sent.change { $0 += part.count }
      }
      connection.waitForEnd()
    }
    defer { server.stop() }
    let stream = try await session.stream(HTTPRequest(.get, to: server.url))
    var iterator = stream.body.makeAsyncIterator()
    var received = try #require(try await iterator.next()).count
    // The server has to stop: the bytes on their way are in the sockets and in a buffer of 256 KiB.
    try await GateServer().stops(sent, in: session)
    #expect(sent.now < total / 2)
    while let part = try await iterator.next() { received += part.count }
    #expect(received == total)
  }

  @Test func `a reader that goes ends the request`() async throws {
    let isOver = Box(false)
    let observer = RecordingObserver()
    let session = try HTTPSessionManager(observer: observer)
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\n\r\n")
      while connection.write("more and more") {}
      isOver.change { $0 = true }
    }
    defer { server.stop() }
    for try await _ in try await session.stream(HTTPRequest(.get, to: server.url)).body { break }
    #expect(try await observer.first(2) == [.began(isIndicated: true), .ended])
    try await eventually(isOver.now) { $0 }
  }

  @Test func `a body that ends too early is an error, after what has come`() async throws {
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
    }
    defer { server.stop() }
    var body = Data()
    let error = await #expect(throws: HTTPError.self) {
      for try await part in try await session.stream(HTTPRequest(.get, to: server.url)).body { body += part }
    }
    #expect(error?.kind == .connectionLost)
    #expect(body == Data("half".utf8))
  }

  @Test(arguments: [nil, Int64(2_000_000)])
  func `a body that is made while it is sent arrives whole`(length: Int64?) async throws {
    let server = try NginxServer()
    let parts = AsyncStream<Data> { continuation in
      for number in 0..<200 { continuation.yield(Data(repeating: UInt8(number), count: 10_000)) }
      continuation.finish()
    }
    let request = try HTTPRequest(.put, to: server.url.appending(path: "upload/made"))
    let reply = try await session.upload(.sequence(parts, length: length), with: request)
    #expect(reply.response.status == .created)
    let body = try Data(contentsOf: server.folder.url("files/upload/made"))
    #expect(body == (0..<200).reduce(into: Data()) { $0 += Data(repeating: UInt8($1), count: 10_000) })
  }

  @Test func `a body that cannot be made fails the request`() async throws {
    struct Refusal: Error {}
    let server = try NginxServer()
    let parts = AsyncThrowingStream<Data, any Error> { continuation in
      continuation.yield(Data("begin".utf8))
      continuation.finish(throwing: Refusal())
    }
    let request = try HTTPRequest(.put, to: server.url.appending(path: "upload/made"))
    let error = await #expect(throws: HTTPError.self) {
      try await session.upload(.sequence(parts), with: request)
    }
    #expect(error?.kind == .cannotEncodeRequest)
    #expect(error?.underlying is Refusal)
  }
}
