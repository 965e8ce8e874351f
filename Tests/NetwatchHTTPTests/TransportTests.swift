import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of a session whose requests go to a function or to a recording instead of a server.
@Suite(.timeLimit(.minutes(5))) struct TransportTests {
  private struct User: Codable, Sendable, Equatable { var name: String }

  private func session(
    _ transport: any HTTPTransport, observer: (any RequestObserver)? = nil, path: (any PathSource)? = nil,
    by clock: ManualClock? = nil
  ) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    configuration.transport = transport
    return try HTTPSessionManager(
      baseURL: URL(string: "https://api.example.org/v1"), configuration: configuration, observer: observer, path: path,
      threads: clock.map { try HTTPThreads(by: $0) })
  }

  @Test func `an app is tested without a server`() async throws {
    let server = ScriptedTransport { request, body in
      switch (request.method, request.path) {
      case (.get, "/v1/users/1"): try .json(User(name: "Ali"))
      case (.post, "/v1/users"):
        HTTPTransportAnswer(.created, headerFields: [.contentType: "application/json"], body: body)
      default: HTTPTransportAnswer(.notFound)
      }
    }
    let observer = RecordingObserver()
    let session = try session(server, observer: observer)
    #expect(try await session.get("users/1", as: User.self) == User(name: "Ali"))
    #expect(try await session.post("users", body: .json(User(name: "Eva")), as: User.self) == User(name: "Eva"))
    #expect(await #expect(throws: HTTPError.self) { try await session.send("x") }?.response?.status == .notFound)
    #expect(server.requests.map(\.request.path) == ["/v1/users/1", "/v1/users", "/v1/x"])
    #expect(server.requests[1].body == Data(#"{"name":"Eva"}"#.utf8))
    #expect(server.requests[0].request.authority == "api.example.org")
    #expect(try await observer.first(6).count { $0 == .ended } == 3)
  }

  @Test func `redirects, challenges and interceptors are as with a server`() async throws {
    let server = ScriptedTransport { request, _ in
      switch request.path {
      case "/v1/a": HTTPTransportAnswer(.found, headerFields: [.location: "/b"], body: Data("gone".utf8))
      case "/b" where request.headerFields[.authorization] == nil: HTTPTransportAnswer(.unauthorized)
      case "/b": .text(request.headerFields[.authorization] ?? "")
      default: HTTPTransportAnswer(.notFound)
      }
    }
    let session = try session(server)
    let bearer = BearerTokenInterceptor { _ in BearerToken("t") }
    let reply = try await session.data(for: "a", options: .with { $0.interceptors = [bearer] })
    #expect(reply.value == Data("Bearer t".utf8))
    #expect(reply.request.path == "/b" && reply.metrics.furtherAttempts == 1)
    let refused = try await session.data(for: "a")
    #expect(refused.response.status == .unauthorized)
    let redirect = try await session.data(for: "a", options: .with { $0.maximumRedirects = 0 })
    #expect(redirect.response.status == .found && redirect.value == Data("gone".utf8))
  }

  @Test func `a body in parts waits for its reader`() async throws {
    let made = Box(0)
    let server = ScriptedTransport { request, _ in
      guard request.path == "/v1/x" else { return HTTPTransportAnswer() }
      return HTTPTransportAnswer(
        parts: AsyncStream<Data>(unfolding: {
          made.changed { made in
            made += 1
            return made <= 1_000 ? Data(count: 10_000) : nil
          }
        }))
    }
    let session = try session(server)
    let stream = try await session.stream("x")
    var iterator = stream.body.makeAsyncIterator()
    var count = try await iterator.next()?.count ?? 0
    // No further parts are made, although other requests give the transport the time for it.
    for _ in 0..<20 { _ = try await session.data(for: "y") }
    #expect(made.now < 100)
    while let part = try await iterator.next() { count += part.count }
    #expect(count == 10_000_000)
  }

  @Test func `downloads, progress and limits are as with a server`() async throws {
    let server = ScriptedTransport { _, body in HTTPTransportAnswer(body: body + Data(count: 100_000)) }
    let session = try session(server)
    let folder = try TemporaryFolder()
    let progress = Box<[HTTPProgress]>([])
    let reply = try await session.download(
      "x", body: .text("hello"), to: .file(folder.url("x")),
      options: .with { $0.onProgress = { progress.change { [now = $0] in $0.append(now) } } })
    #expect(try Data(contentsOf: reply.value).count == 100_005)
    #expect(progress.now.last?.received == 100_005 && progress.now.last?.totalToReceive == 100_005)
    #expect(progress.now.last?.sent == 5)
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: "x", options: .with { $0.maximumResponseBytes = 10 })
    }
    #expect(error?.kind == .responseTooLarge)
  }

  @Test func `failures, cancellation and time-outs are as with a server`() async throws {
    let isEnded = Box(false)
    let server = ScriptedTransport { request, _ throws(HTTPError) in
      if request.path == "/v1/broken" { throw HTTPError(.connectionLost, "request") }
      // The transport hangs until its task is cancelled.
      let mute = AsyncStream<Void>.makeStream()
      for await _ in mute.stream {}
      mute.continuation.finish()
      isEnded.change { $0 = true }
      return HTTPTransportAnswer()
    }
    let clock = ManualClock()
    let session = try session(server, by: clock)
    #expect(await #expect(throws: HTTPError.self) { try await session.data(for: "broken") }?.kind == .connectionLost)
    let late = Task { try await session.data(for: "x", options: .with { $0.timeout = .seconds(20) }) }
    try await eventually(server.requests.count) { $0 == 2 }
    await session.pass(.seconds(20), on: clock)
    let error = await #expect(throws: HTTPError.self) { try await late.value }
    #expect(error?.kind == .timedOut)
    try await eventually(isEnded.now) { $0 }
    isEnded.change { $0 = false }
    let task = Task { try await session.data(for: "x") }
    try await eventually(server.requests.count) { $0 == 3 }
    task.cancel()
    await #expect(throws: HTTPError.self) { try await task.value }
    try await eventually(isEnded.now) { $0 }
  }

  @Test func `a path that is lost and comes back can be scripted`() async throws {
    let path = ScriptedPath()
    let isFirst = Box(true)
    let server = ScriptedTransport { _, _ throws(HTTPError) in
      if isFirst.changed({ isFirst in
        defer { isFirst = false }
        return isFirst
      }) {
        path.set(false)
        throw HTTPError(.connectionLost, "request")
      }
      return .text("back")
    }
    let session = try session(server, path: path)
    let task = session.dataTask("x", options: .with { $0.retriesWhenReachable = true }) { _ in }
    task.resume()
    try await eventually(task.state) { $0 == .waiting }
    path.set(true)
    try await eventually(task.state) { $0 == .finished }
    #expect(server.requests.count == 2)
  }

  @Test func `what a server has said is recorded, without secrets, and replayed`() async throws {
    let count = Box(0)
    let real = try ScriptedServer { connection, _ in
      while let head = connection.readHead() {
        let number = count.changed { count in
          count += 1
          return count
        }
        let body = head.hasPrefix("GET /gone") ? "" : "answer \(number)"
        let status = head.hasPrefix("GET /gone") ? "302 Found\r\nLocation: /there" : "200 OK"
        connection.write(
          "HTTP/1.1 \(status)\r\nSet-Cookie: secret=1\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
      }
    }
    let folder = try TemporaryFolder()
    let file = folder.url("recording.json")
    func ask(_ transport: any HTTPTransport) async throws -> [String] {
      var configuration = HTTPSessionConfiguration()
      configuration.transport = transport
      let session = try HTTPSessionManager(baseURL: real.url, configuration: configuration)
      var answers: [String] = []
      for path in ["a", "a", "b", "gone"] {
        var call = HTTPCall(.get, path)
        call.headerFields[.authorization] = "Bearer secret"
        answers.append(String(decoding: try await session.data(for: call).value, as: UTF8.self))
      }
      return answers
    }
    let answers = try await ask(RecordedTransport(recording: file, by: HTTPSessionManager()))
    #expect(answers == ["answer 1", "answer 2", "answer 3", "answer 5"])
    let recording = try String(contentsOf: file, encoding: .utf8)
    #expect(!recording.contains("secret"))
    real.stop()
    let replayed = try RecordedTransport(replaying: file)
    #expect(try await ask(replayed) == answers)
    let session = try session(replayed)
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: "other") }
    #expect(error?.kind == .notRecorded)
    #expect(throws: HTTPError.self) { try RecordedTransport(replaying: folder.url("none")) }
  }
}
