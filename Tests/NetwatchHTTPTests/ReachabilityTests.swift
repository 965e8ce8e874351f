import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite(.timeLimit(.minutes(5))) struct ReachabilityTests {
  private let server: NginxServer
  private let observer = RecordingObserver()

  init() throws { server = try NginxServer() }

  private func session(_ path: ScriptedPath) throws -> HTTPSessionManager {
    try HTTPSessionManager(baseURL: server.url, observer: observer, path: path)
  }

  private func options(_ change: (inout HTTPTaskOptions) -> Void) -> HTTPTaskOptions {
    var options = HTTPTaskOptions()
    change(&options)
    return options
  }

  @Test func `a task waits for the path, is not active meanwhile, and then runs`() async throws {
    let path = ScriptedPath(false)
    let session = try session(path)
    let statuses = Box<[Int]>([])
    let task = session.dataTask(
      try HTTPRequest(.get, to: session.url(for: "method")), options: options { $0.reachabilityTimeout = .seconds(60) }
    ) { result in statuses.change { $0.append((try? result.get().response.status.code) ?? 0) } }
    task.resume()
    try await eventually(task.state) { $0 == .waiting }
    #expect(observer.all.isEmpty)
    path.set(true)
    #expect(try await eventually(statuses.now) { !$0.isEmpty } == [200])
    #expect(try await observer.first(2) == [.began(isIndicated: true), .ended])
    // The session observes the path only while a task waits for it.
    #expect(path.observers == 0)
  }

  @Test func `a task waits for a path over what it wants`() async throws {
    let path = ScriptedPath()
    let session = try session(path)
    let statuses = Box<[Int]>([])
    let task = session.dataTask(
      "method",
      options: options {
        $0.requiredMedia = [.wifi, .wired]
        $0.allowsExpensivePath = false
        $0.reachabilityTimeout = .seconds(60)
      }
    ) { result in statuses.change { $0.append((try? result.get().response.status.code) ?? 0) } }
    task.resume()
    for (medium, isExpensive) in [(nil, nil), (.wwan, true), (.wifi, true), (.wifi, nil), (.wwan, false)]
      as [(Medium?, Bool?)]
    {
      path.set(true, medium: medium, isExpensive: isExpensive)
      try await eventually(task.state) { $0 == .waiting }
      // A request for the tasks is answered after the engine has handled the change.
      _ = await session.tasks()
      #expect(task.state == .waiting && observer.all.isEmpty)
    }
    path.set(true, medium: .wired, isExpensive: false)
    #expect(try await eventually(statuses.now) { !$0.isEmpty } == [200])
  }

  @Test func `a task that may not use the path fails at once, unless it may wait`() async throws {
    let path = ScriptedPath()
    let session = try session(path)
    func kind(_ change: (inout HTTPTaskOptions) -> Void) async -> HTTPError? {
      do throws(HTTPError) {
        _ = try await session.data(for: "method", options: options(change))
        return nil
      } catch {
        return error
      }
    }
    path.set(true, medium: .wwan, isExpensive: true)
    let error = await kind { $0.requiredMedia = [.wifi] }
    #expect(error?.kind == .notReachable && error?.message.contains("wwan") == true)
    #expect(await kind { $0.allowsExpensivePath = false }?.kind == .notReachable)
    #expect(await kind { $0.requiredMedia = [.wwan] } == nil)
    #expect(await kind { _ in } == nil)
    path.set(true)
    #expect(await kind { $0.requiredMedia = Set(Medium.allCases) }?.kind == .notReachable)
    #expect(observer.all.count == 4)
    // A session without a source of paths cannot know what the path goes over.
    let blind = try HTTPSessionManager(baseURL: server.url)
    let refusal = await #expect(throws: HTTPError.self) {
      try await blind.data(for: "method", options: options { $0.allowsExpensivePath = false })
    }
    #expect(refusal?.kind == .badConfiguration)
  }

  @Test func `a monitor's verdict says what the path goes over`() async throws {
    func path(_ medium: Medium?, isExpensive: Bool) -> NetworkPath {
      var verdict = NetworkPath.Verdict(status: medium.map { ReachabilityStatus(of: $0) } ?? .notReachable)
      (verdict.medium, verdict.cost.expense) = (medium, isExpensive ? .modem : nil)
      return NetworkPath(verdict: verdict, reason: .routeUp, interfaces: [])
    }
    let feed = MonitorFeed(path(.wwan, isExpensive: true))
    let monitor = NetworkMonitor(feed: feed) {}
    let source: any PathSource = monitor
    #expect(source.medium == .wwan && source.isExpensive == true)
    let session = try HTTPSessionManager(baseURL: server.url, path: monitor)
    let statuses = Box<[Int]>([])
    let task = session.dataTask(
      "method",
      options: options {
        $0.allowsExpensivePath = false
        $0.reachabilityTimeout = .seconds(60)
      }
    ) { result in statuses.change { $0.append((try? result.get().response.status.code) ?? 0) } }
    task.resume()
    try await eventually(task.state) { $0 == .waiting }
    feed.broadcast.publish(path(nil, isExpensive: false))
    #expect(source.medium == nil && source.isExpensive == nil)
    _ = await session.tasks()
    #expect(task.state == .waiting)
    feed.broadcast.publish(path(.wifi, isExpensive: false))
    #expect(try await eventually(statuses.now) { !$0.isEmpty } == [200])
  }

  /// An interceptor that moves the path to a `wwan` link, and then wants one more attempt.
  private struct Mover: RequestInterceptor {
    let path: ScriptedPath

    func retry(_ failure: HTTPFailedAttempt) async -> RetryDecision {
      guard failure.retries == 0 else { return .next }
      path.set(true, medium: .wwan)
      return .retry()
    }
  }

  @Test func `each attempt looks at the path anew`() async throws {
    let path = ScriptedPath()
    path.set(true, medium: .wifi)
    let session = try session(path)
    let statuses = Box<[Int]>([])
    let task = session.dataTask(
      "missing",
      options: options {
        $0.requiredMedia = [.wifi]
        $0.reachabilityTimeout = .seconds(60)
        $0.interceptors = [Mover(path: path)]
      }
    ) { result in statuses.change { $0.append((try? result.get().metrics.furtherAttempts) ?? -1) } }
    task.resume()
    try await eventually(task.state == .waiting && path.medium == .wwan) { $0 }
    path.set(true, medium: .wifi)
    #expect(try await eventually(statuses.now) { !$0.isEmpty } == [1])
  }

  @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.max) * 18])
  func `times that no clock can hold do no harm`(_ time: Duration) async throws {
    let path = ScriptedPath(false)
    let session = try session(path)
    let statuses = Box<[Int]>([])
    let patient = options {
      $0.reachabilityTimeout = time
      $0.timeout = time
      $0.totalTimeout = time
    }
    let task = session.dataTask(
      try HTTPRequest(.post, to: session.url(for: "method")),
      body: HTTPBody.data(Data("a body in packets".utf8)).throttled(packetSize: 4_096, delay: time), options: patient
    ) { result in statuses.change { $0.append((try? result.get().response.status.code) ?? 0) } }
    task.resume()
    try await eventually(task.state) { $0 == .waiting }
    path.set(true)
    #expect(try await eventually(statuses.now) { !$0.isEmpty } == [200])
  }

  @Test func `a session that is dropped while a task waits lets its path go`() async throws {
    weak var gone: ScriptedPath?
    for _ in 0..<20 {
      let path = ScriptedPath(false)
      gone = path
      let session = try session(path)
      let ends = Box<[HTTPError.Kind]>([])
      let task = session.dataTask(
        try HTTPRequest(.get, to: session.url(for: "method")),
        options: options { $0.reachabilityTimeout = .seconds(60) }
      ) { result in
        if case .failure(let error) = result { ends.change { $0.append(error.kind) } }
      }
      task.resume()
      try await eventually(path.observers) { $0 == 1 }
      session.invalidate()
      #expect(try await eventually(ends.now) { !$0.isEmpty } == [.invalidated])
      #expect(path.observers == 0)
    }
    try await eventually(gone == nil) { $0 }
  }

  @Test func `a request does not wait if there is a path`() async throws {
    let session = try session(ScriptedPath(true))
    let reply = try await session.data(
      for: HTTPRequest(.get, to: session.url(for: "method")),
      options: options { $0.reachabilityTimeout = .seconds(60) })
    #expect(reply.response.status == .ok)
  }

  @Test func `a task stops waiting for a path after its reachability timeout`() async throws {
    let clock = ManualClock()
    let session = try HTTPSessionManager(
      baseURL: server.url, observer: observer, path: ScriptedPath(false), threads: HTTPThreads(by: clock))
    let kinds = Box<[HTTPError.Kind]>([])
    let task = session.dataTask("method", options: options { $0.reachabilityTimeout = .seconds(50) }) { result in
      if case .failure(let error) = result { kinds.change { $0.append(error.kind) } }
    }
    task.resume()
    try await eventually(task.state) { $0 == .waiting }
    await session.pass(.seconds(49), on: clock)
    #expect(task.state == .waiting)
    await session.pass(.seconds(1), on: clock)
    #expect(try await eventually(kinds.now) { !$0.isEmpty } == [.notReachable])
    #expect(observer.all.isEmpty)
  }

  @Test func `a task that waits can be suspended and cancelled`() async throws {
    let path = ScriptedPath(false)
    let session = try session(path)
    let ends = Box<[HTTPError.Kind]>([])
    let task = session.dataTask(
      try HTTPRequest(.get, to: session.url(for: "method")), options: options { $0.reachabilityTimeout = .seconds(60) }
    ) { result in
      if case .failure(let error) = result { ends.change { $0.append(error.kind) } }
    }
    task.resume()
    try await eventually(task.state) { $0 == .waiting }
    task.suspend()
    try await eventually(task.state) { $0 == .suspended }
    path.set(true)
    #expect(ends.now.isEmpty)
    path.set(false)
    task.resume()
    try await eventually(task.state) { $0 == .waiting }
    task.cancel()
    #expect(try await eventually(ends.now) { !$0.isEmpty } == [.cancelled])
    #expect(observer.all.isEmpty)
  }

  @Test func `what fails offline is made again when the path is back`() async throws {
    let path = ScriptedPath(true)
    let isUp = Box(false)
    let server = try ScriptedServer { connection, _ in
      guard connection.readHead() != nil else { return }
      if isUp.now {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        connection.waitForEnd()
      } else {
        // The link goes down, and the connection ends with it.
        path.set(false)
        connection.reset()
      }
    }
    defer { server.stop() }
    let session = try session(path)
    let request = try HTTPRequest(.get, to: server.url)
    let result = Task { [options = options { $0.retriesWhenReachable = true }] in
      try await session.data(for: request, options: options)
    }
    _ = try await observer.first(2)
    isUp.change { $0 = true }
    path.set(true)
    let reply = try await result.value
    #expect(reply.value == Data("ok".utf8))
    #expect(reply.metrics.furtherAttempts == 1)
    #expect(observer.all == [.began(isIndicated: true), .ended, .began(isIndicated: true), .ended])
  }

  @Test func `what may have been done is not done twice`() async throws {
    let path = ScriptedPath(true)
    let server = try ScriptedServer { connection, _ in
      guard connection.readHead() != nil else { return }
      path.set(false)
      connection.reset()
    }
    defer { server.stop() }
    let session = try session(path)
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(
        for: HTTPRequest(.post, to: server.url), options: options { $0.retriesWhenReachable = true })
    }
    #expect(error?.kind == .connectionLost)
  }

  @Test func `a request that fails while the path is there is not made again`() async throws {
    let session = try session(ScriptedPath(true))
    let port = try LoopbackPort()
    defer { withExtendedLifetime(port) {} }
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(
        for: HTTPRequest(.get, to: #require(URL(string: "http://127.0.0.1:\(port.number)/"))),
        options: options { $0.retriesWhenReachable = true })
    }
    #expect(error?.kind == .cannotConnect)
  }
}
