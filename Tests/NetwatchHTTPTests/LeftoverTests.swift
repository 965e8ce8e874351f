import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests that bytes after a whole answer never become the answer to another request.
@Suite(.timeLimit(.minutes(5))) struct LeftoverTests {
  private static let leftover = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

  /// Starts a server whose answers have bodies of `count` bytes. After the answer to `/more`, it sends another answer
  /// that no request has asked for.
  ///
  /// - Parameters:
  ///   - apart: Whether a body is sent only after the client has read its head.
  ///   - moment: The moment at which the other answer has arrived. Nil if the test does not wait for it.
  private static func server(
    _ count: Int, head apart: Bool, isChunked: Bool, _ moment: EventTimestamp? = nil
  ) throws -> ScriptedServer {
    try ScriptedServer { connection, _ in
      while let head = connection.readHead() {
        let length = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(count)"
        let start = Data("HTTP/1.1 200 OK\r\n\(length)\r\n\r\n".utf8)
        var body = Data(repeating: UInt8(ascii: "x"), count: count)
        if isChunked { body = Data("\(String(count, radix: 16))\r\n".utf8) + body + Data("\r\n0\r\n\r\n".utf8) }
        if apart {
          connection.write(start)
          try? connection.waitUntilRead()
        }
        let more = head.hasPrefix("GET /more") ? Data(leftover.utf8) : Data()
        guard connection.write((apart ? Data() : start) + body + (moment?.isLate == true ? Data() : more)) else {
          return
        }
        if let moment, !more.isEmpty { moment.pass(more, over: connection) }
      }
    }
  }

  /// The moment at which an answer that no request has asked for has arrived. The test sends its next request only
  /// after this moment: otherwise no client could tell this answer from the one to its next request.
  private final class EventTimestamp: Sendable {
    /// Whether the other answer is sent only after the client has read the answer before it.
    let isLate: Bool
    private let isWanted = DispatchSemaphore(value: 0)
    private let hasArrived = DispatchSemaphore(value: 0)

    init(isLate: Bool) { self.isLate = isLate }

    /// Sends the other answer if it is late, and waits until it has arrived. The server calls this.
    func pass(_ answer: Data, over connection: ServerConnection) {
      isWanted.wait()
      if isLate { connection.write(answer) }
      try? connection.waitUntilArrived()
      hasArrived.signal()
    }

    /// Waits until the other answer has arrived. The test calls this after it has got the answer before it.
    func arrive() async {
      isWanted.signal()
      await withCheckedContinuation { continuation in
        Thread.detachNewThread { [hasArrived] in
          hasArrived.wait()
          continuation.resume()
        }
      }
    }
  }

  @Test(arguments: [100, 16_384, 20_000, 300_000], [false, true])
  func `an answer that nobody has asked for is not the next one`(_ count: Int, _ apart: Bool) async throws {
    for (isChunked, isLate) in [(false, false), (true, false), (false, true)] {
      let moment = EventTimestamp(isLate: isLate)
      let server = try Self.server(count, head: apart, isChunked: isChunked, moment)
      defer { server.stop() }
      let session = try HTTPSessionManager()
      for _ in 0..<5 {
        let first = try await session.data(for: HTTPRequest(.get, to: server.url.appending(path: "more")))
        try #require(first.value.count == count)
        await moment.arrive()
        let second = try await session.data(for: HTTPRequest(.get, to: server.url))
        try #require(second.value.count == count)
      }
    }
  }

  /// Tests a connection that libcurl gives to a waiting request before anybody can look for further bytes.
  @Test(arguments: [100, 20_000]) func `nor is it that of a request that waits for the connection`(
    _ count: Int
  ) async throws {
    let server = try Self.server(count, head: true, isChunked: false)
    defer { server.stop() }
    var configuration = HTTPSessionConfiguration()
    configuration.maximumConnectionsPerHost = 1
    let session = try HTTPSessionManager(configuration: configuration)
    let requests = try (0..<10).map { number in
      try HTTPRequest(.get, to: server.url.appending(path: number % 2 == 0 ? "more" : "plain"))
    }
    for reply in await session.batch(requests, limit: 10) { #expect(try reply.get().value.count == count) }
  }

  /// A TLS server that answers `/more/COUNT/CHUNKED/APART` and `/plain/COUNT/CHUNKED/APART`.
  private static let secureServer = Result {
    let server = try NodeServer(
      """
      server.on('secureConnection', socket => {
        let text = '';
        socket.on('error', () => {}).on('data', data => {
          text += data;
          if (!text.endsWith('\\r\\n\\r\\n')) return;
          const [, kind, count, isChunked, isApart] = text.split(' ')[1].split('/');
          text = '';
          const length = isChunked === 'true' ? 'Transfer-Encoding: chunked' : `Content-Length: ${count}`;
          const head = `HTTP/1.1 200 OK\\r\\n${length}\\r\\n\\r\\n`;
          let body = 'x'.repeat(Number(count));
          if (isChunked === 'true') body = `${Number(count).toString(16)}\\r\\n${body}\\r\\n0\\r\\n\\r\\n`;
          if (kind === 'more') body += `\(leftover)`;
          if (isApart !== 'true') return socket.write(head + body);
          socket.write(head);
          setTimeout(() => socket.write(body), 20);
        });
      });
      """, over: .tls)
    server.folder.removeAtExit()
    return server
  }

  @Test(arguments: [(100, false), (100, true), (20_000, false), (20_000, true)], [false, true])
  func `nor is one in the same record of TLS`(_ answer: (count: Int, isChunked: Bool), _ apart: Bool) async throws {
    let (count, isChunked) = answer
    let server = try Self.secureServer.get()
    func request(_ kind: String) throws -> HTTPRequest {
      try HTTPRequest(.get, to: server.url.appending(path: "\(kind)/\(count)/\(isChunked)/\(apart)"))
    }
    let session = try server.session()
    for _ in 0..<5 {
      let first = try await session.data(for: request("more"))
      #expect(first.value.count == count)
      let second = try await session.data(for: request("plain"))
      #expect(second.value.count == count)
      let third = try await session.data(for: request("plain"))
      #expect(third.value.count == count && third.metrics.reusedConnection)
    }
  }

  /// Tests a request that must not be sent twice. It was not sent yet when its connection is given up.
  @Test func `nor is it that of a POST`() async throws {
    let server = try ScriptedServer { connection, _ in
      while let head = connection.readHead() {
        let isPost = head.hasPrefix("POST")
        if isPost, connection.read(4) == nil { return }
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n")
        connection.write(Data(repeating: 1, count: 40_000) + (isPost ? Data() : Data(Self.leftover.utf8)))
      }
    }
    defer { server.stop() }
    let session = try HTTPSessionManager()
    for _ in 0..<5 {
      let first = try await session.data(for: HTTPRequest(.get, to: server.url))
      #expect(first.value.count == 40_000)
      let second = try await session.data(for: HTTPRequest(.post, to: server.url), body: .data(Data("body".utf8)))
      #expect(second.value.count == 40_000)
    }
  }

  @Test func `nor is it taken from a Unix socket`() async throws {
    let folder = try TemporaryFolder()
    let server = try NodeServer(
      """
      server.on('connection', socket => {
        socket.on('error', () => {}).on('data', data => {
          const body = 'x'.repeat(20000);
          socket.write('HTTP/1.1 200 OK\\r\\nContent-Length: 20000\\r\\n\\r\\n' + body);
          // It arrives when the body has been read.
          if (`${data}`.startsWith('GET /more')) setImmediate(() => socket.write(`\(Self.leftover)`));
        });
      });
      require('net').createServer(socket => server.emit('connection', socket)).listen('\(folder.file("socket"))');
      """, over: .tcp)
    var configuration = HTTPSessionConfiguration()
    configuration.unixSocketPath = folder.file("socket")
    let session = try HTTPSessionManager(configuration: configuration)
    for number in 0..<50 {
      let path = number.isMultiple(of: 2) ? "more" : "plain"
      let reply = try await session.data(for: HTTPRequest(.get, to: server.url.appending(path: path)))
      #expect(reply.value.count == 20_000)
    }
  }

  @Test func `a connection without such an answer is used again`() async throws {
    let numbers = Box<[Int]>([])
    let server = try ScriptedServer { connection, number in
      while connection.readHead() != nil {
        numbers.change { $0.append(number) }
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n")
        connection.write(Data(repeating: 1, count: 40_000))
      }
    }
    defer { server.stop() }
    let session = try HTTPSessionManager()
    for _ in 0..<20 { _ = try await session.data(for: HTTPRequest(.get, to: server.url)) }
    #expect(numbers.now == Array(repeating: 0, count: 20))
  }
}
