import Foundation
import HTTPTypes
import Testing

@testable import NetwatchHTTP

/// When a task has taken too long, and when it has not.
@Suite(.timeLimit(.minutes(5))) struct TimeoutTests {
  /// Answers each request, after a while, with the number of its connection; never for `/mute`.
  private static func server(after delay: UInt32) throws -> ScriptedServer {
    try ScriptedServer { connection, number in
      while let head = connection.readHead() {
        if head.hasPrefix("GET /mute") { return connection.waitForEnd() }
        usleep(delay)
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\(number)")
      }
    }
  }

  private func session(connections: Int) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    configuration.maximumConnectionsPerHost = connections
    return try HTTPSessionManager(configuration: configuration)
  }

  private static func options(_ timeout: Duration?, total: Duration? = nil) -> HTTPTaskOptions {
    var options = HTTPTaskOptions()
    options.timeout = timeout
    options.totalTimeout = total
    return options
  }

  @Test func `a request that waits for a connection does not stand still`() async throws {
    let server = try Self.server(after: 400_000)
    defer { server.stop() }
    let session = try session(connections: 1)
    let request = try HTTPRequest(.get, to: server.url)
    let bodies = try await withThrowingTaskGroup(of: Data.self) { group in
      for _ in 0..<5 {
        group.addTask { try await session.data(for: request, options: Self.options(.seconds(1))).value }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(bodies == Array(repeating: Data("0".utf8), count: 5))
  }

  @Test func `a request that has waited for a connection has its time from then on`() async throws {
    let server = try Self.server(after: 500_000)
    defer { server.stop() }
    let session = try session(connections: 1)
    let first = Task { [url = server.url] in
      try await session.data(for: HTTPRequest(.get, to: url), options: Self.options(nil))
    }
    let began = ContinuousClock.now
    let error = await #expect(throws: HTTPError.self) {
      let mute = try HTTPRequest(.get, to: server.url.appending(path: "mute"))
      return try await session.data(for: mute, options: Self.options(.milliseconds(300)))
    }
    #expect(error?.kind == .timedOut)
    #expect(ContinuousClock.now - began >= .milliseconds(300))
    #expect(try await first.value.response.status == .ok)
  }

  @Test func `the total time runs while a request waits for a connection`() async throws {
    let server = try Self.server(after: 0)
    defer { server.stop() }
    let session = try session(connections: 1)
    let mute = try HTTPRequest(.get, to: server.url.appending(path: "mute"))
    let first = Task { try await session.data(for: mute, options: Self.options(nil)) }
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: mute, options: Self.options(nil, total: .milliseconds(300)))
    }
    #expect(error?.kind == .timedOut)
    first.cancel()
    _ = await first.result
  }

  @Test(arguments: [nil, .seconds(Int64.max), Duration.longestDelay])
  func `a timeout of nil or of the longest duration never expires`(_ timeout: Duration?) async throws {
    let server = try Self.server(after: 50_000)
    defer { server.stop() }
    let session = try session(connections: 1)
    var options = Self.options(timeout, total: timeout)
    options.reachabilityTimeout = timeout
    let body = HTTPBody.data(Data("body".utf8)).throttled(packetSize: 8, delay: timeout ?? .zero)
    let reply = try await session.data(for: HTTPRequest(.post, to: server.url), body: body, options: options)
    #expect(reply.value == Data("0".utf8))
  }

  @Test func `any number of connections can be asked for, but not none`() async throws {
    let server = try Self.server(after: 0)
    defer { server.stop() }
    let reply = try await session(connections: .max).data(for: HTTPRequest(.get, to: server.url))
    #expect(reply.value == Data("0".utf8))
    for count in [0, -1, Int.min] {
      let error = #expect(throws: HTTPError.self) { try session(connections: count) }
      #expect(error?.kind == .badConfiguration)
    }
  }
}
