import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of when a task has taken too long, and when it has not.
@Suite(.timeLimit(.minutes(5))) struct TimeoutTests {
  /// Starts a server that answers each request with the number of its connection when the gate is open. It never
  /// answers `/mute`.
  private static func server(_ gate: Gate, _ heads: Box<[String]> = Box([])) throws -> ScriptedServer {
    try ScriptedServer { connection, number in
      while let head = connection.readHead() {
        heads.change { $0.append(String(head.prefix { $0 != "\r" })) }
        if head.hasPrefix("GET /mute") { return connection.waitForEnd() }
        gate.pass()
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\(number)")
      }
    }
  }

  private let clock = ManualClock()

  private func session(connections: Int) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    configuration.maximumConnectionsPerHost = connections
    return try HTTPSessionManager(configuration: configuration, threads: HTTPThreads(by: clock))
  }

  private static func options(_ timeout: Duration?, total: Duration? = nil) -> HTTPTaskOptions {
    var options = HTTPTaskOptions()
    options.timeout = timeout
    options.totalTimeout = total
    return options
  }

  @Test func `a request that waits for a connection does not stand still`() async throws {
    let (gate, heads, timeout) = (Gate(), Box<[String]>([]), Duration.seconds(3))
    let server = try Self.server(gate, heads)
    defer { server.stop() }
    let session = try session(connections: 1)
    let request = try HTTPRequest(.get, to: server.url)
    let first = Task { try await session.data(for: request, options: Self.options(nil)).value }
    try await eventually(heads.now.count) { $0 == 1 }
    let results = Box<[Result<Data, HTTPError>]>([])
    for _ in 0..<4 {
      session.dataTask(request, options: Self.options(timeout)) { result in
        results.change { $0.append(result.map(\.value)) }
      }.resume()
    }
    await session.pass(timeout, on: clock)
    #expect(results.now.isEmpty)
    gate.open()
    #expect(try await first.value == Data("0".utf8))
    let bodies = try await eventually(results.now) { $0.count == 4 }.map { try $0.get() }
    #expect(bodies == Array(repeating: Data("0".utf8), count: 4))
  }

  @Test func `a request that has waited for a connection has its time from then on`() async throws {
    let (gate, heads, timeout) = (Gate(), Box<[String]>([]), Duration.seconds(60))
    let server = try Self.server(gate, heads)
    defer { server.stop() }
    let session = try session(connections: 1)
    let first = Task { [url = server.url] in
      try await session.data(for: HTTPRequest(.get, to: url), options: Self.options(nil))
    }
    try await eventually(heads.now.count) { $0 == 1 }
    let kinds = Box<[HTTPError.Kind?]>([])
    let mute = try HTTPRequest(.get, to: server.url.appending(path: "mute"))
    session.dataTask(mute, options: Self.options(timeout)) { result in
      kinds.change { if case .failure(let error) = result { $0.append(error.kind) } else { $0.append(nil) } }
    }.resume()
    await session.pass(timeout, on: clock)
    #expect(kinds.now.isEmpty)
    gate.open()
    #expect(try await first.value.response.status == .ok)
    // The second request is sent when its turn comes. It was not given up before.
    try await eventually(heads.now.count { $0.hasPrefix("GET /mute") }) { $0 == 1 }
    await session.pass(timeout - .milliseconds(1), on: clock)
    #expect(kinds.now.isEmpty)
    await session.pass(.milliseconds(1), on: clock)
    #expect(try await eventually(kinds.now) { !$0.isEmpty } == [.timedOut])
  }

  @Test func `the total time runs while a request waits for a connection`() async throws {
    let heads = Box<[String]>([])
    let server = try Self.server(Gate(), heads)
    defer { server.stop() }
    let session = try session(connections: 1)
    let mute = try HTTPRequest(.get, to: server.url.appending(path: "mute"))
    let first = Task { try await session.data(for: mute, options: Self.options(nil)) }
    try await eventually(heads.now.count) { $0 == 1 }
    let second = Task { try await session.data(for: mute, options: Self.options(nil, total: .seconds(60))) }
    try await eventually(await session.tasks().count) { $0 == 2 }
    await session.pass(.seconds(60), on: clock)
    let error = await #expect(throws: HTTPError.self) { try await second.value }
    #expect(error?.kind == .timedOut)
    #expect(heads.now.count == 1)
    first.cancel()
    _ = await first.result
  }

  @Test(arguments: [nil, .seconds(Int64.max), Duration.longestDelay])
  func `a timeout of nil or of the longest duration never expires`(_ timeout: Duration?) async throws {
    let gate = Gate()
    let server = try Self.server(gate)
    defer { server.stop() }
    let session = try session(connections: 1)
    var options = Self.options(timeout, total: timeout)
    options.reachabilityTimeout = timeout
    let body = HTTPBody.data(Data("body".utf8)).throttled(packetSize: 8, delay: timeout ?? .zero)
    let result = Box<Result<HTTPReply<Data>, HTTPError>?>(nil)
    session.uploadTask(try HTTPRequest(.post, to: server.url), from: body, options: options) { reply in
      result.change { $0 = reply }
    }.resume()
    await session.pass(.seconds(50 * 365 * 86_400), on: clock)
    gate.open()
    #expect(try await eventually(result.now) { $0 != nil }?.get().value == Data("0".utf8))
  }

  @Test func `any number of connections can be asked for, but not none`() async throws {
    let gate = Gate()
    gate.open()
    let server = try Self.server(gate)
    defer { server.stop() }
    let reply = try await session(connections: .max).data(for: HTTPRequest(.get, to: server.url))
    #expect(reply.value == Data("0".utf8))
    for count in [0, -1, Int.min] {
      let error = #expect(throws: HTTPError.self) { try session(connections: count) }
      #expect(error?.kind == .badConfiguration)
    }
  }
}
