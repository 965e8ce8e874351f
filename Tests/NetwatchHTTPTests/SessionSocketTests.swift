import Foundation
import Glibc
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of a session's sockets, which stay watched between its requests.
@Suite(.timeLimit(.minutes(5))) struct SessionSocketTests {
  private let session: HTTPSessionManager

  init() throws { session = try HTTPSessionManager() }

  private func text(from url: URL, timeout: Duration? = nil) async throws -> String {
    var options = HTTPTaskOptions()
    options.timeout = timeout
    return String(
      decoding: try await session.data(for: HTTPRequest(.get, to: url), options: options).value, as: UTF8.self)
  }

  /// Starts a server that answers the first `count` requests of each connection with the number of the connection, and
  /// then calls `end`.
  private func server(
    answers count: Int, _ end: @escaping @Sendable (ServerConnection) -> Void
  ) throws -> ScriptedServer {
    try ScriptedServer { [engine = session.engines.handles[0]] connection, number in
      for _ in 0..<count {
        guard connection.readHead() != nil else { return }
        // When the session's thread does this job, the call of libcurl that has sent the request has ended. So libcurl
        // has to wait for the answer.
        let turn = DispatchSemaphore(value: 0)
        engine.run { _ in turn.signal() }
        turn.wait()
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\(number)")
      }
      end(connection)
      connection.waitForEnd()
    }
  }

  @Test(arguments: 1...3) func `a connection that the server closes is replaced`(_ requests: Int) async throws {
    let server = try server(answers: requests) { $0.stop() }
    defer { server.stop() }
    var answers: [String] = []
    for _ in 0..<4 * requests { answers.append(try await text(from: server.url)) }
    #expect(answers == (0..<4 * requests).map { "\($0 / requests)" })
  }

  /// Tests callers that are woken together, because other requests of the session are about to end.
  @Test func `callers go on while a server owes another one its answer`() async throws {
    let mute = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.waitForEnd()
    }
    defer { mute.stop() }
    let server = try server(answers: 100) { $0.stop() }
    defer { server.stop() }
    let other = Task { try await text(from: mute.url) }
    try await withThrowingTaskGroup { group in
      for _ in 0..<40 {
        group.addTask {
          for _ in 0..<3 {
            let text = try await text(from: server.url)
            #expect(!text.isEmpty)
          }
        }
      }
      try await group.waitForAll()
    }
    other.cancel()
    let error = await #expect(throws: HTTPError.self) { try await other.value }
    #expect(error?.kind == .cancelled)
  }

  /// Tests a socket that libcurl closes without a notice. Its number becomes the number of the next socket.
  @Test func `an attempt that was given up does not disturb the next one`() async throws {
    let port = try LoopbackPort()
    let mute = try MuteListener(0x7f00_0009, port: Int(port.number))
    defer { withExtendedLifetime((port, mute)) {} }
    let server = try server(answers: 1) { $0.stop() }
    defer { server.stop() }
    for number in 0..<10 {
      let error = await #expect(throws: HTTPError.self) {
        try await text(from: URL(string: "http://127.0.0.9:\(port.number)/")!, timeout: .milliseconds(20))
      }
      #expect(error?.kind == .timedOut)
      #expect(try await text(from: server.url) == "\(number)")
    }
  }

  @Test func `no program that the process starts inherits one`() async throws {
    let server = try server(answers: 2) { $0.stop() }
    defer { server.stop() }
    _ = try await text(from: server.url)
    let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { CInt($0) }
    let sockets = descriptors.filter { unsafe LoopbackSocket.port(of: $0, getpeername) == server.port }
    #expect(!sockets.isEmpty)
    for socket in sockets { #expect(fcntl(socket, F_GETFD) & FD_CLOEXEC != 0) }
  }
}
