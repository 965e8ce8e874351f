import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// What a server sends behind a whole answer is nobody's.
@Suite(.timeLimit(.minutes(5))) struct LeftoverTests {
  private static let leftover = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

  /// Answers with bodies of `count` bytes, and sends an answer that nobody has asked for behind those to `/more`.
  ///
  /// - Parameters:
  ///   - apart: Whether a body is sent when its head has been read.
  ///   - late: Sends what nobody has asked for, when the client has the answer; nil for at once.
  private static func server(
    _ count: Int, head apart: Bool, isChunked: Bool, late: LateAnswer? = nil
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
        guard connection.write((apart ? Data() : start) + body + (late == nil ? more : Data())) else { return }
        if let late, !more.isEmpty { late.send(more, over: connection) }
      }
    }
  }

  /// An answer that a server sends when the test lets it, and that has arrived when the test goes on.
  private final class LateAnswer: Sendable {
    private let isWanted = DispatchSemaphore(value: 0)
    private let hasArrived = DispatchSemaphore(value: 0)

    func send(_ answer: Data, over connection: ServerConnection) {
      isWanted.wait()
      connection.write(answer)
      try? connection.waitUntilArrived()
      hasArrived.signal()
    }

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
    for (isChunked, late) in [(false, nil), (true, nil), (false, LateAnswer())] {
      let server = try Self.server(count, head: apart, isChunked: isChunked, late: late)
      defer { server.stop() }
      let session = try HTTPSessionManager()
      for _ in 0..<5 {
        let first = try await session.data(for: HTTPRequest(.get, to: server.url.appending(path: "more")))
        #expect(first.value.count == count)
        await late?.arrive()
        let second = try await session.data(for: HTTPRequest(.get, to: server.url))
        #expect(second.value.count == count)
      }
    }
  }

  /// libcurl gives the connection to the request that waits for it before anybody can look for more bytes.
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

  @Test(arguments: [(100, false), (100, true), (20_000, false), (20_000, true)], [false, true])
  func `nor is one in the same record of TLS`(_ answer: (count: Int, isChunked: Bool), _ apart: Bool) async throws {
    let (count, isChunked) = answer
    let server = try NodeServer(
      """
      server.on('secureConnection', socket => {
        let text = '';
        socket.on('error', () => {}).on('data', data => {
          text += data;
          if (!text.endsWith('\\r\\n\\r\\n')) return;
          const length = \(isChunked) ? 'Transfer-Encoding: chunked' : 'Content-Length: \(count)';
          const head = `HTTP/1.1 200 OK\\r\\n${length}\\r\\n\\r\\n`;
          let body = 'x'.repeat(\(count));
          if (\(isChunked)) body = `\(String(count, radix: 16))\\r\\n${body}\\r\\n0\\r\\n\\r\\n`;
          if (text.startsWith('GET /more')) body += `\(Self.leftover)`;
          text = '';
          if (!\(apart)) return socket.write(head + body);
          socket.write(head);
          setTimeout(() => socket.write(body), 20);
        });
      });
      """, over: .tls)
    let session = try server.session()
    for _ in 0..<5 {
      let first = try await session.data(for: HTTPRequest(.get, to: server.url.appending(path: "more")))
      #expect(first.value.count == count)
      let second = try await session.data(for: HTTPRequest(.get, to: server.url))
      #expect(second.value.count == count)
      let third = try await session.data(for: HTTPRequest(.get, to: server.url))
      #expect(third.value.count == count && third.metrics.reusedConnection)
    }
  }

  /// A request that must not be sent twice has not been sent yet when the connection is given up.
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
