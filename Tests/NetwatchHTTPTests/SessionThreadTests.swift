import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// An observer that records the events of each task, and the threads on which they come.
private final class ThreadRecorder: HTTPEventObserver {
  private let seen = Box<[RequestID: [(thread: UInt, word: String)]]>([:])

  func handle(_ event: HTTPEvent) {
    let thread = UInt(pthread_self())
    let word =
      switch event.kind {
      case .created: "created"
      case .sent: "sent"
      case .received: "received"
      case .finished: "finished"
      default: "other"
      }
    seen.change { $0[event.task.id, default: []].append((thread, word)) }
  }

  /// The threads on which the events of each task have come.
  var threads: [Set<UInt>] { seen.now.values.map { Set($0.map(\.thread)) } }
  var words: [[String]] { seen.now.values.map { $0.map(\.word) } }
  /// The threads on which the events of all tasks have come.
  var all: Set<UInt> { threads.reduce([]) { $0.union($1) } }
}

/// Tests of a session that uses several threads.
@Suite(.timeLimit(.minutes(5))) struct SessionThreadTests {
  private let recorder = ThreadRecorder()
  private let results = Box<[Result<HTTPReply<Data>, HTTPError>]>([])

  private func session(
    _ base: URL, threads: Int = 4, connections: Int = 8, _ change: (inout HTTPSessionConfiguration) -> Void = { _ in }
  ) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration.with(connections: connections)
    configuration.eventObservers = [recorder]
    change(&configuration)
    return try HTTPSessionManager(baseURL: base, configuration: configuration, threads: HTTPThreads(count: threads))
  }

  /// Makes tasks that append their results to `results`.
  private func tasks(_ count: Int, of session: HTTPSessionManager) -> [HTTPTask] {
    (0..<count).map { number in
      session.dataTask("\(number)") { [results] result in results.change { $0.append(result) } }
    }
  }

  private func kinds() -> [HTTPError.Kind?] {
    results.now.map { if case .failure(let error) = $0 { error.kind } else { nil } }
  }

  /// Sends `count` requests, `atOnce` at a time, and expects an answer to each.
  private func load(_ count: Int, atOnce: Int, by session: HTTPSessionManager, _ paths: [String] = ["x"]) async throws {
    try await withThrowingTaskGroup { group in
      for worker in 0..<atOnce {
        group.addTask {
          for number in stride(from: worker, to: count, by: atOnce) {
            let reply = try await session.data(for: paths[number % paths.count])
            guard reply.value == Data("ok".utf8) else { throw TestFailure("another answer") }
          }
        }
      }
      try await group.waitForAll()
    }
  }

  // MARK: Limits

  @Test(arguments: [1, 3, 6]) func `the limit of connections to a host holds for all threads`(_ limit: Int) async throws
  {
    // After as many connections as are allowed, all other requests wait.
    let server = try GateServer(isOpen: false)
    let session = try session(server.url, connections: limit)
    async let all: Void = load(2_000, atOnce: 32, by: session)
    try await server.waits(for: limit)
    server.open()
    try await all
    #expect(server.now.heads.count == 2_000)
    #expect(server.now.mostConnections == limit)
    #expect(recorder.all.count == min(limit, 4))
    #expect(recorder.threads.allSatisfy { $0.count == 1 })
    #expect(recorder.words.allSatisfy { $0 == ["created", "sent", "received", "finished"] })
  }

  @Test func `the limit of all connections holds for all threads`() async throws {
    let server = try GateServer(isOpen: false)
    let session = try session(server.url) { $0.maximumConnections = 3 }
    let port = try #require(server.url.port)
    let urls = ["127.0.0.1", "localhost", "a.localhost"].map { "http://\($0):\(port)/" }
    async let all: Void = load(300, atOnce: 30, by: session, urls)
    try await server.waits(for: 3)
    server.open()
    try await all
    #expect(server.now.mostRequests == 3)
    #expect(recorder.all.count == 3)
  }

  @Test func `the limit of idle connections holds for all threads`() async throws {
    let server = try GateServer(isOpen: false)
    let session = try session(server.url) { $0.maximumIdleConnections = 3 }
    for task in tasks(8, of: session) { task.resume() }
    try await server.waits(for: 8)
    server.open()
    try await eventually(results.now.count) { $0 == 8 }
    try await eventually(server.now.connections) { $0 <= 3 }
    #expect(kinds() == Array(repeating: nil, count: 8))
    #expect(recorder.all.count == 3)
  }

  @Test func `the parts of the connections are at least 1, and together all of them`() throws {
    var random = SplitMix(seed: 21)
    for _ in 0..<2_000 {
      var configuration = HTTPSessionConfiguration()
      configuration.proxy = .direct
      configuration.maximumConnectionsPerHost = .random(in: 1...100, using: &random)
      if Bool.random(using: &random) { configuration.maximumConnections = .random(in: 1...100, using: &random) }
      if Bool.random(using: &random) { configuration.maximumIdleConnections = .random(in: 1...100, using: &random) }
      let settings = try configuration.curlSettings()
      let parts = settings.parts(min(.random(in: 1...64, using: &random), settings.mostParts))
      #expect(parts.map(\.connectionsPerHost).reduce(0, +) == settings.connectionsPerHost)
      #expect(parts.map(\.mostIdle).reduce(0, +) == settings.mostIdle)
      #expect(parts.allSatisfy { $0.mostToOneHost >= 1 && $0.mostIdle >= 1 })
      if let connections = settings.connections {
        #expect(parts.compactMap(\.connections).reduce(0, +) == connections)
      }
    }
  }

  // MARK: Which thread

  @Test func `one request after the other keeps to one connection`() async throws {
    let server = try GateServer()
    let session = try session(server.url)
    try await load(50, atOnce: 1, by: session)
    #expect(server.now.mostConnections == 1)
    #expect(recorder.all.count == 1)
  }

  @Test func `each task goes where the fewest are for the share of the connections`() throws {
    let loads = EngineLoads([2, 2, 1, 1])
    func begin(_ count: Int) -> [Int] { (0..<count).map { _ in loads.beginTask() } }
    #expect(begin(6) == [0, 1, 2, 3, 0, 1])
    #expect(begin(6) == [0, 1, 2, 3, 0, 1])
    EngineLoads.Place(loads: loads, index: 3).taskEnded()
    EngineLoads.Place(loads: loads, index: 3).taskEnded()
    #expect(begin(3) == [3, 3, 0])
  }

  @Test func `sessions with one connection are spread over the threads`() async throws {
    let server = try GateServer()
    let threads = try HTTPThreads(count: 3)
    var configuration = HTTPSessionConfiguration.with(connections: 1)
    configuration.eventObservers = [recorder]
    for _ in 0..<3 {
      _ = try await HTTPSessionManager(configuration: configuration, threads: threads).data(for: server.url)
    }
    #expect(recorder.all.count == 3)
    #expect(threads.count == 3)
  }

  // MARK: Tasks

  @Test func `each task can be suspended, resumed and cancelled`() async throws {
    let server = try GateServer(isOpen: false)
    let session = try session(server.url)
    let tasks = tasks(8, of: session)
    for task in tasks { task.resume() }
    try await server.waits(for: 8)
    #expect(recorder.all.count == 4)
    for task in tasks { task.suspend() }
    try await eventually(tasks.allSatisfy { $0.state == .suspended }) { $0 }
    server.open()
    for task in tasks[..<4] { task.resume() }
    try await eventually(results.now.count) { $0 == 4 }
    for task in tasks[4...] { task.cancel() }
    try await eventually(results.now.count) { $0 == 8 }
    #expect(kinds() == [nil, nil, nil, nil, .cancelled, .cancelled, .cancelled, .cancelled])
    #expect(tasks.allSatisfy { $0.state == .finished })
  }

  @Test func `a Swift task that is cancelled cancels its request`() async throws {
    let server = try GateServer(isOpen: false)
    let session = try session(server.url)
    let awaited = (0..<8).map { number in Task { try await session.data(for: "\(number)") } }
    try await server.waits(for: 8)
    for task in awaited { task.cancel() }
    for task in awaited {
      let error = await #expect(throws: HTTPError.self) { try await task.value }
      #expect(error?.kind == .cancelled)
    }
  }

  @Test func `tasks are listed in the order in which they were made, and all are cancelled`() async throws {
    let server = try GateServer(isOpen: false)
    let session = try session(server.url)
    let tasks = tasks(40, of: session)
    for task in tasks.reversed() where task != tasks[7] { task.resume() }
    #expect(await session.tasks() == tasks)
    #expect(await session.tasks(of: .data).count == 40)
    #expect(await session.tasks(of: .upload).isEmpty)
    session.cancelAll()
    try await eventually(results.now.count) { $0 == 40 }
    #expect(kinds().allSatisfy { $0 == .cancelled })
    #expect(await session.tasks().isEmpty)
    server.open()
    try await load(20, atOnce: 5, by: session)
  }

  @Test func `streams, uploads, downloads and batches run on several threads`() async throws {
    let server = try NginxServer()
    let text = String(repeating: "kilo", count: 50_000)
    try server.serve(text, as: "large.txt")
    let session = try session(server.url)
    let folder = try TemporaryFolder()
    try await withThrowingTaskGroup { group in
      for number in 0..<16 {
        group.addTask {
          let stream = try await session.stream("large.txt")
          // Some streams are not read to their end.
          if number % 4 == 0 { return }
          var count = 0
          for try await part in stream.body { count += part.count }
          guard count == 200_000 else { throw TestFailure("\(count) bytes") }
        }
        group.addTask {
          _ = try await session.download("large.txt", to: .file(folder.url("\(number)")))
          guard folder.text(of: "\(number)") == text else { throw TestFailure("another file") }
        }
        group.addTask {
          let request = HTTPCall(.put, "upload/\(number)", body: .data(Data(text.utf8), contentType: "text/plain"))
          guard try await session.data(for: request).response.status == .created else { throw TestFailure("no upload") }
        }
      }
      try await group.waitForAll()
    }
    let results = await session.batch((0..<100).map { "arguments?\($0)" }, limit: 20)
    let texts = try results.map { String(decoding: try $0.get().value, as: UTF8.self) }
    #expect(texts == (0..<100).map { "\($0)" })
    #expect(recorder.all.count > 1)
  }

  @Test func `one refresh serves refusals on all threads`() async throws {
    let server = try ScriptedServer { connection, _ in
      while let head = connection.readHead() {
        let status = head.contains("Bearer new") ? "200 OK" : "401 Unauthorized"
        connection.write("HTTP/1.1 \(status)\r\nContent-Length: 2\r\n\r\nok")
      }
    }
    defer { server.stop() }
    let refreshes = Box(0)
    let session = try session(server.url) { configuration in
      configuration.interceptors = [
        BearerTokenInterceptor(BearerToken("old")) { _ in
          refreshes.change { $0 += 1 }
          return BearerToken("new")
        }
      ]
    }
    try await load(64, atOnce: 16, by: session)
    #expect(refreshes.now == 1)
    #expect(recorder.all.count > 1)
  }

  // MARK: Cookies

  @Test func `the cookies are those of the session, whichever thread has a request`() async throws {
    let server = try GateServer(isOpen: false) { $0.hasPrefix("GET /set") ? "Set-Cookie: set=1; Path=/\r\n" : "" }
    let session = try session(server.url)
    session.store([SessionCookie(name: "given", value: "2", domain: "127.0.0.1")!])
    for task in tasks(7, of: session) { task.resume() }
    let setter = Task { try await session.data(for: "set") }
    try await server.waits(for: 8)
    // A cookie that was stored before a task was made is sent with its request.
    #expect(server.now.heads.allSatisfy { $0.contains("given=2") })
    server.open()
    _ = try await setter.value
    try await eventually(results.now.count) { $0 == 7 }
    #expect(await Set(session.cookies().map(\.name)) == ["given", "set"])
    try await load(8, atOnce: 8, by: session)
    #expect(server.now.heads.suffix(8).allSatisfy { $0.contains("given=2") && $0.contains("set=1") })
    session.removeCookies { $0.name == "given" }
    try await load(8, atOnce: 8, by: session)
    #expect(server.now.heads.suffix(8).allSatisfy { !$0.contains("given=2") && $0.contains("set=1") })
    #expect(recorder.all.count == 4)
    session.invalidate()
    await session.waitUntilInvalidated()
    #expect(await session.cookies().isEmpty)
  }

  @Test func `no request goes without a cookie while others come and go`() async throws {
    let asked = DispatchSemaphore(value: 0)
    let server = try GateServer { head in
      asked.signal()
      let path = head.split(separator: " ").dropFirst().first?.dropFirst() ?? ""
      return "Set-Cookie: c\(path)=1; Path=/\r\n"
    }
    let session = try session(server.url)
    session.store([SessionCookie(name: "stays", value: "1", domain: "127.0.0.1")!])
    let isOver = Box(false)
    Thread.detachNewThread {
      // A thread that takes a lock again at once hardly ever leaves it to another thread. So there is only one change
      // for each request.
      while !isOver.now {
        asked.wait()
        session.removeCookies { $0.name != "stays" }
        session.store([SessionCookie(name: "other", value: "1", domain: "127.0.0.1")!])
      }
    }
    try await load(1_000, atOnce: 16, by: session, (0..<20).map { "\($0)" })
    isOver.change { $0 = true }
    asked.signal()
    #expect(await session.cookies().contains { $0.name == "stays" })
    #expect(server.now.heads.count == 1_000)
    #expect(server.now.heads.allSatisfy { $0.contains("stays=1") })
  }

  // MARK: The end

  @Test(arguments: [true, false]) func `a session has ended when each of its threads is done`(_ cancels: Bool)
    async throws
  {
    let server = try GateServer(isOpen: false)
    let session = try session(server.url)
    for task in tasks(20, of: session) { task.resume() }
    let events = session.taskEvents()
    try await server.waits(for: 8)
    if cancels { session.invalidate() } else { session.finishTasksAndInvalidate() }
    let late = session.dataTask("late") { [results] result in results.change { $0.append(result) } }
    late.resume()
    try await eventually(late.state) { $0 == .finished }
    if !cancels { server.open() }
    await session.waitUntilInvalidated()
    let ends: [HTTPError.Kind?] = Array(repeating: cancels ? .invalidated : nil, count: 20)
    #expect(kinds().count == 21)
    #expect(kinds().count { $0 == ends[0] } == (cancels ? 21 : 20))
    // The sequence of events ends with the last of the threads.
    var finished = 0
    for await event in events { if case .finished = event.kind { finished += 1 } }
    #expect(finished == 20)
    #expect(await session.tasks().isEmpty)
    for await _ in session.taskEvents() {}
  }

  @Test func `a session that nobody holds ends its tasks on all threads`() async throws {
    let server = try GateServer(isOpen: false)
    weak var pending: PendingCompletions?
    try await {
      let session = try session(server.url)
      pending = session.pending
      for task in tasks(20, of: session) { task.resume() }
      try await server.waits(for: 8)
    }()
    try await eventually(results.now.count) { $0 == 20 }
    #expect(kinds().allSatisfy { $0 == .invalidated })
    try await eventually(pending == nil) { $0 }
  }

  @Test func `a reader that goes away is told no more, and another one is`() async throws {
    let server = try GateServer()
    let session = try session(server.url)
    let first = session.taskEvents()
    try await load(8, atOnce: 8, by: session)
    for await event in first { if case .finished = event.kind { break } }
    let second = session.taskEvents()
    try await load(8, atOnce: 8, by: session)
    session.invalidate()
    var ids: [RequestID: [Bool]] = [:]
    for await event in second {
      let isEnd = if case .finished = event.kind { true } else { false }
      ids[event.task.id, default: []].append(isEnd)
    }
    #expect(ids.count == 8)
    #expect(ids.values.allSatisfy { $0 == [false, false, false, true] })
  }
}
