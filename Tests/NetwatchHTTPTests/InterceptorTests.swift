import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// An interceptor that adds its name to a field. A closure makes its decisions about failed attempts.
private struct Marker: RequestInterceptor {
  let name: String
  var decide: @Sendable (HTTPFailedAttempt) async -> RetryDecision = { _ in .next }

  func adapt(_ request: HTTPRequest, for task: HTTPTaskInfo) async throws(HTTPError) -> HTTPRequest {
    var request = request
    request.headerFields[.from] = (request.headerFields[.from] ?? "") + name
    return request
  }

  func retry(_ failure: HTTPFailedAttempt) async -> RetryDecision { await decide(failure) }
}

extension HTTPField.Name {
  fileprivate static let from = HTTPField.Name("From")!
}

/// Tests of what interceptors do to the requests of a session.
@Suite(.timeLimit(.minutes(5))) struct InterceptorTests {
  /// The heads and bodies of the requests that a server has seen.
  private let seen = Box<[String]>([])

  /// Starts a server that answers the nth request with the nth element of the list, and all further requests with the
  /// last element. An empty answer closes the connection.
  private func server(_ answers: [String]) throws -> ScriptedServer {
    try ScriptedServer { [seen] connection, _ in
      while let head = connection.readHead() {
        let length = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length: ") }
        let body = connection.read(length.flatMap { Int($0.dropFirst(16)) } ?? 0) ?? Data()
        let number = seen.changed { seen in
          seen.append(head + String(decoding: body, as: UTF8.self))
          return seen.count
        }
        let answer = answers[min(number, answers.count) - 1]
        if answer.isEmpty { return }
        connection.write(answer)
      }
    }
  }

  private func answer(_ status: String, _ fields: String = "", body: String = "ok") -> String {
    "HTTP/1.1 \(status)\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
  }

  private func session(
    _ server: ScriptedServer, observer: (any RequestObserver)? = nil, by clock: ManualClock? = nil,
    _ interceptors: any RequestInterceptor...
  ) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    configuration.interceptors = interceptors
    return try HTTPSessionManager(
      baseURL: server.url, configuration: configuration, observer: observer,
      threads: clock.map { try HTTPThreads(by: $0) })
  }

  private func fields(_ name: String) -> [String] {
    seen.now.map { head in
      let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("\(name): ") }
      return line.map { String($0.dropFirst(name.count + 2)) } ?? ""
    }
  }

  // MARK: The protocol

  @Test func `interceptors change requests in their order, the call's before the session's`() async throws {
    let session = try session(server([answer("200 OK")]), Marker(name: "c"), Marker(name: "d"))
    let options = HTTPTaskOptions.with { $0.interceptors = [Marker(name: "a"), Marker(name: "b")] }
    _ = try await session.data(for: "x", options: options)
    _ = try await session.data(for: "x")
    #expect(fields("from") == ["abcd", "cd"])
  }

  @Test func `the first interceptor that knows what to do decides`() async throws {
    let asked = Box<[String]>([])
    func marker(_ name: String, _ decision: RetryDecision) -> Marker {
      Marker(name: name) { failure in
        asked.change { $0.append("\(name)\(failure.retries)\(failure.response?.status.code ?? 0)") }
        return failure.retries < 2 ? decision : .next
      }
    }
    let session = try session(
      server([answer("500 No")]), marker("a", .next), marker("b", .retry()), marker("c", .fail(HTTPError(.other, "c"))))
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: "x") }
    #expect(error?.operation == "c")
    #expect(asked.now == ["a0500", "b0500", "a0500", "b1500", "a0500", "b2500", "c0500"])
    #expect(seen.now.count == 3)
    // Each attempt is made from the request of the task, so each interceptor adds its name once.
    #expect(fields("from") == ["abc", "abc", "abc"])
  }

  @Test func `a response that nobody repeats is the response`() async throws {
    let session = try session(server([answer("404 Not Found", body: "gone")]), Marker(name: "a"))
    let reply = try await session.data(for: "x")
    #expect(reply.response.status == .notFound && reply.value == Data("gone".utf8))
  }

  @Test func `what an interceptor throws fails the task, and nothing is sent`() async throws {
    struct Refusal: RequestInterceptor {
      func adapt(_ request: HTTPRequest, for task: HTTPTaskInfo) async throws(HTTPError) -> HTTPRequest {
        throw HTTPError(.cannotEncodeRequest, "sign \(task.label ?? "")")
      }
    }
    let session = try session(server([answer("200 OK")]), Refusal())
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: "x", options: .with { $0.label = "that" })
    }
    #expect(error?.operation == "sign that")
    #expect(seen.now.isEmpty)
  }

  @Test func `nothing retries for ever`() async throws {
    let session = try session(server([""]), Marker(name: "a") { _ in .retry() }, Marker(name: "b") { _ in .retry() })
    await #expect(throws: HTTPError.self) { try await session.data(for: "x") }
    #expect(seen.now.count == 11)
    await #expect(throws: HTTPError.self) {
      try await session.data(for: "x", options: .with { $0.maximumRetries = 0 })
    }
    #expect(seen.now.count == 12)
  }

  @Test func `a body is sent again, unless it is gone`() async throws {
    let always = Marker(name: "a") { _ in .retry() }
    let session = try session(server([answer("503 No"), "", answer("200 OK")]), always)
    let reply = try await session.upload(.text("hello"), with: "x")
    #expect(reply.response.status == .ok)
    #expect(seen.now.map { $0.hasSuffix("hello") } == [true, true, true])
    let parts = AsyncStream<Data> { stream in
      stream.yield(Data("once".utf8))
      stream.finish()
    }
    let second = try self.session(server([answer("503 No")]), always)
    let refused = try await second.upload(.sequence(parts, length: 4), with: "x")
    #expect(refused.response.status.code == 503)
  }

  @Test func `half a body that was kept in memory is thrown away, and one that went elsewhere stays a failure`()
    async throws
  {
    let half = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"
    let always = Marker(name: "a") { _ in .retry() }
    let session = try session(
      ScriptedServer { [seen] connection, _ in
        guard connection.readHead() != nil else { return }
        let number = seen.changed { seen in
          seen.append("")
          return seen.count
        }
        connection.write(number == 1 ? half : "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwhole")
      }, always)
    #expect(try await session.data(for: "x").value == Data("whole".utf8))
    seen.change { $0 = [] }
    let folder = try TemporaryFolder()
    let error = await #expect(throws: HTTPError.self) {
      try await session.download("x", to: .file(folder.url("x")))
    }
    #expect(error?.kind == .connectionLost)
    #expect(seen.now.count == 1)
  }

  @Test func `a task can be cancelled and suspended while an interceptor thinks, and while it waits`() async throws {
    let gate = AsyncStream<Void>.makeStream()
    let asked = Box(false)
    let observer = RecordingObserver()
    let server = try server([answer("500 No"), answer("200 OK")])
    let session = try session(
      server, observer: observer,
      Marker(name: "a") { _ in
        asked.change { $0 = true }
        for await _ in gate.stream { break }
        return .retry(after: .seconds(1_000))
      })
    let result = Box<HTTPError.Kind?>(nil)
    let task = session.dataTask("x") { if case .failure(let error) = $0 { result.change { $0 = error.kind } } }
    task.resume()
    try await eventually(asked.now) { $0 }
    gate.continuation.yield()
    try await eventually(task.state) { $0 == .waiting }
    // The task does not count as active while it waits. If it is resumed after a suspension, it begins at once.
    #expect(observer.all == [.began(isIndicated: true), .ended])
    task.suspend()
    try await eventually(task.state) { $0 == .suspended }
    task.cancel()
    #expect(try await eventually(result.now) { $0 != nil } == .cancelled)
  }

  @Test(arguments: [Duration?.none, .seconds(999)])
  func `another attempt follows after its delay, unless the time for the whole task is over`(limit: Duration?)
    async throws
  {
    let clock = ManualClock()
    let session = try session(
      server([answer("500 No"), answer("200 OK")]), by: clock,
      Marker(name: "a") { _ in .retry(after: .seconds(1_000)) })
    let result = Box<Result<HTTPReply<Data>, HTTPError>?>(nil)
    let task = session.dataTask("x", options: .with { $0.totalTimeout = limit }) { reply in
      result.change { $0 = reply }
    }
    task.resume()
    try await eventually(task.state) { $0 == .waiting }
    await session.pass(.seconds(998), on: clock)
    #expect(task.state == .waiting)
    await session.pass(.seconds(1), on: clock)
    if limit == nil { #expect(task.state == .waiting) }
    await session.pass(.seconds(1), on: clock)
    switch try await eventually(result.now, { $0 != nil }) {
    case .success(let reply): #expect(limit == nil && reply.response.status == .ok)
    case .failure(let error): #expect(limit != nil && error.kind == .timedOut)
    case nil: break
    }
  }

  // MARK: Retries

  @Test func `a server in trouble is asked again after the time that it names`() async throws {
    let session = try session(
      server([answer("503 No", "Retry-After: 0\r\n"), answer("429 No", "Retry-After: 0\r\n"), answer("200 OK")]),
      RetryInterceptor())
    #expect(try await session.data(for: "x").response.status == .ok)
    #expect(seen.now.count == 3)
    let long = try self.session(server([answer("503 No", "Retry-After: 61\r\n")]), RetryInterceptor())
    #expect(try await long.data(for: "x").response.status.code == 503)
    #expect(seen.now.count == 4)
  }

  @Test func `a POST is not tried again unless the caller says so`() async throws {
    var policy = RetryInterceptor()
    policy.delay = .zero
    let session = try session(server([answer("503 No")]), policy)
    #expect(try await session.upload(.text("x"), with: "x").response.status.code == 503)
    #expect(seen.now.count == 1)
    policy.methods.insert(.post)
    _ = try await session.upload(.text("x"), with: "x", options: .with { [policy] in $0.interceptors = [policy] })
    #expect(seen.now.count == 4)
  }

  @Test func `the delay doubles, or grows as it is told, up to the longest`() {
    var policy = RetryInterceptor()
    #expect((0..<4).map { policy.backoff($0, chance: 0) } == [0.5, 1, 2, 4].map { .seconds($0) })
    #expect(policy.backoff(3, chance: 1) == .seconds(2))
    #expect(policy.backoff(.max, chance: 0) == .seconds(60))
    #expect(policy.backoff(.min, chance: 0) == .milliseconds(500))
    policy.backoffBase = 3
    #expect((0..<4).map { policy.backoff($0, chance: 0) } == [0.5, 1.5, 4.5, 13.5].map { .seconds($0) })
    for base in [1, 0, -2, .nan] {
      policy.backoffBase = base
      #expect(policy.backoff(.max, chance: 0) == .milliseconds(500))
    }
    policy.backoffBase = .infinity
    #expect(policy.backoff(1, chance: 0) == .seconds(60))
    policy.backoffBase = 2
    policy.jitter = .infinity
    #expect(policy.backoff(2, chance: 1) == .zero)
    policy.delay = .seconds(-1)
    #expect(policy.backoff(2, chance: 0) == .zero)
  }

  @Test(
    arguments: [
      ("0", 0), ("120", 120), ("Sun, 06 Nov 1994 08:49:37 GMT", 37), ("Sun, 06 Nov 1994 08:48:00 GMT", -60),
      ("Sunday, 06-Nov-94 08:49:37 GMT", 37), ("Sun Nov  6 08:49:37 1994", 37),
      ("soon", nil), ("-1", nil), ("", nil), ("1.5", nil), ("99999999999999999999", Int64.max / 4),
    ] as [(String, Int64?)])
  func `Retry-After is a number of seconds or a date`(_ text: String, _ seconds: Int64?) throws {
    var response = HTTPResponse(status: .serviceUnavailable)
    response.headerFields[try #require(HTTPField.Name("Retry-After"))] = text
    let now = Date(timeIntervalSince1970: 784_111_740)  // 06 Nov 1994 08:49:00
    #expect(RetryInterceptor.retryAfter(response, now: now) == seconds.map { .seconds($0) })
  }

  // MARK: Tokens

  /// Starts a server that accepts only this token.
  private func server(taking token: Box<String>) throws -> ScriptedServer {
    try ScriptedServer { [seen] connection, _ in
      while let head = connection.readHead() {
        seen.change { $0.append(head) }
        let isKnown = head.contains("Authorization: Bearer \(token.now)\r\n")
        connection.write(isKnown ? answer("200 OK") : answer("401 Unauthorized"))
      }
    }
  }

  @Test func `one refresh is enough for many refusals`() async throws {
    let refreshes = Box(0)
    let token = Box("new")
    let bearer = BearerTokenInterceptor(BearerToken("old")) { old in
      #expect(old?.value == "old")
      refreshes.change { $0 += 1 }
      return BearerToken("new")
    }
    let session = try session(server(taking: token), bearer)
    let results = await session.batch((0..<100).map { "\($0)" }, limit: 100)
    #expect(results.allSatisfy { (try? $0.get().response.status) == .ok })
    #expect(refreshes.now == 1)
    #expect(bearer.token?.value == "new")
    #expect(seen.now.count <= 200)
  }

  @Test func `a token with a newline at its end is refreshed, too`() async throws {
    let refreshes = Box(0)
    let bearer = BearerTokenInterceptor(BearerToken("old\n")) { _ in
      refreshes.change { $0 += 1 }
      return BearerToken("new\n")
    }
    let session = try session(server(taking: Box("new")), bearer)
    for _ in 0..<3 { #expect(try await session.data(for: "x").response.status == .ok) }
    #expect(refreshes.now == 1)
  }

  @Test func `a request that is refused with a new token is refused`() async throws {
    let refreshes = Box(0)
    // A busy machine may need more time than the default window.
    let bearer = BearerTokenInterceptor(window: .seconds(3_600)) { _ in
      BearerToken("\(refreshes.changed { $0 += 1; return $0 })")
    }
    let session = try session(server(taking: Box("none of them")), bearer)
    #expect(try await session.data(for: "x").response.status == .unauthorized)
    // The first token was fetched before the first request, and the second after its refusal.
    #expect(refreshes.now == 2)
    #expect(seen.now.count == 2)
    for _ in 0..<3 { #expect(try await session.data(for: "x").response.status == .unauthorized) }
    #expect(refreshes.now == bearer.maximumRefreshes && bearer.maximumRefreshes == 5)
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: "x") }
    #expect(error?.kind == .notAuthenticated)
  }

  @Test func `the word before a token, the signs of a refusal and the refreshes can be chosen`() async throws {
    let refreshes = Box(0)
    let bearer = BearerTokenInterceptor(
      BearerToken("old"), scheme: "Token", maximumRefreshes: 2, window: .seconds(3_600),
      isRefusal: { $0.response?.status.code == 419 }
    ) { _ in
      BearerToken("\(refreshes.changed { $0 += 1; return $0 })")
    }
    let session = try session(
      server([answer("419 Expired"), answer("200 OK"), answer("401 No"), answer("419 Expired")]), bearer)
    #expect(try await session.data(for: "x").response.status == .ok)
    // A 401 does not refuse the token here, because the interceptor looks only for a 419.
    #expect(try await session.data(for: "x").response.status == .unauthorized)
    #expect(try await session.data(for: "x").response.status.code == 419)
    #expect(refreshes.now == 2)
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: "x") }
    #expect(error?.kind == .notAuthenticated)
    #expect(
      fields("authorization") == ["Token old", "Token 1", "Token 1", "Token 1", "Token 2", "Token 2"])
  }

  @Test func `a refresh that fails fails those who wait, and the next request tries again`() async throws {
    struct Offline: Error {}
    let isOffline = Box(true)
    let bearer = BearerTokenInterceptor { _ in
      if isOffline.now { throw Offline() }
      return BearerToken("good")
    }
    let session = try session(server(taking: Box("good")), bearer)
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: "x") }
    #expect(error?.kind == .notAuthenticated && error?.underlying is Offline)
    isOffline.change { $0 = false }
    #expect(try await session.data(for: "x").response.status == .ok)
  }

  @Test func `a token that ends is refreshed before it is sent`() async throws {
    let now = Box(Date(timeIntervalSince1970: 1_000))
    let old = BearerToken("old", expiration: Date(timeIntervalSince1970: 1_020))
    let bearer = BearerTokenInterceptor(old, now: { now.now }) { _ in BearerToken("new") }
    let request = HTTPRequest(method: .get, scheme: "https", authority: "h", path: "/")
    let task = HTTPTaskInfo(id: 1, kind: .data, label: nil)
    #expect(try await bearer.adapt(request, for: task).headerFields[.authorization] == "Bearer old")
    now.change { $0 += 11 }
    #expect(try await bearer.adapt(request, for: task).headerFields[.authorization] == "Bearer new")
  }

  @Test func `a token goes to no other origin than the session's`() async throws {
    let other = try server([answer("200 OK")])
    let home = try ScriptedServer { connection, _ in
      while connection.readHead() != nil {
        connection.write(
          "HTTP/1.1 302 Found\r\nLocation: \(other.url.absoluteString)\r\nContent-Length: 0\r\n\r\n")
      }
    }
    let session = try session(home, BearerTokenInterceptor(BearerToken("secret")) { _ in BearerToken("x") })
    _ = try await session.data(for: "x")
    _ = try await session.data(for: other.url)
    #expect(fields("authorization") == ["", ""])
    var own = HTTPRequest(method: .get, scheme: nil, authority: nil, path: other.url.absoluteString)
    own.headerFields[.authorization] = "Basic own"
    _ = try await session.data(for: own)
    #expect(fields("authorization").last == "Basic own")
  }
}
