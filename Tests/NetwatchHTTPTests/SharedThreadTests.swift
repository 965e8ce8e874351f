import Foundation
import HTTPTypes
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of sessions that share a thread.
@Suite(.timeLimit(.minutes(5))) struct SharedThreadTests {
  /// The number of this process's threads on which sessions run.
  private static var threads: Int { threadStates.count }

  /// The state of each thread on which sessions run, as proc(5) reports it: R while the thread runs, S while it sleeps.
  private static var threadStates: [Character] {
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return numbers.compactMap { number in
      let facts = try? String(contentsOfFile: "/proc/self/task/\(number)/stat", encoding: .utf8).split(separator: " ")
      return facts.flatMap { $0.count > 2 && $0[1].hasPrefix("(netwatch-http") ? $0[2].first : nil }
    }
  }

  private static var descriptors: Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
  }

  private static func epolls() throws -> Set<CInt> {
    let names = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    let own = names.filter { name in
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")) == "anon_inode:[eventpoll]"
    }
    return Set(own.compactMap { CInt($0) })
  }

  private static func text(from url: URL, by session: HTTPSessionManager) async throws -> String {
    String(decoding: try await session.data(for: url).value, as: UTF8.self)
  }

  private static func require(_ condition: Bool, _ words: @autoclosure () -> String) throws {
    guard condition else { throw TestFailure(words()) }
  }

  @Test func `sessions that share a thread have no other, and the last one ends it`() async {
    await #expect(processExitsWith: .success) {
      let server = try GateServer()
      var shared: HTTPThreads? = try HTTPThreads()
      var sessions = try (0..<8).map { _ in try HTTPSessionManager(threads: shared) }
      for session in sessions { _ = try await Self.text(from: server.url, by: session) }
      try Self.require(Self.threads == 1, "\(Self.threads) threads of 8 sessions that share one")
      var own: HTTPSessionManager? = try HTTPSessionManager()
      try Self.require(Self.threads == 2, "\(Self.threads) threads with a session of its own")
      // The thread of a session of its own ends with the session, even if somebody still holds the session.
      own?.invalidate()
      try await eventually(Self.threads) { $0 == 1 }
      own = nil
      // The shared thread waits for more sessions.
      sessions = []
      _ = try await Self.text(from: server.url, by: HTTPSessionManager(threads: shared))
      try Self.require(Self.threads == 1, "the thread has ended although it is held")
      // The shared thread outlives its `HTTPThreads` object, until its sessions have ended.
      let last = try HTTPSessionManager(threads: shared)
      shared = nil
      for _ in 0..<3 { _ = try await Self.text(from: server.url, by: last) }
      try Self.require(Self.threads == 1, "the thread has ended under its session")
      last.invalidate()
      await last.waitUntilInvalidated()
      try await eventually(Self.threads) { $0 == 0 }
      _ = try HTTPThreads(count: 5)
      try await eventually(Self.threads) { $0 == 0 }
    }
  }

  @Test func `sessions come and go on a thread, and leave nothing behind`() async {
    await #expect(processExitsWith: .success) {
      let server = try GateServer()
      let shared = try HTTPThreads()
      let stays = try HTTPSessionManager(threads: shared)
      _ = try await Self.text(from: server.url, by: stays)
      // The first wait of a process opens descriptors that stay open.
      var looks = 0
      try await eventually(looks) { _ in
        looks += 1
        return looks > 1
      }
      let before = Self.descriptors
      for _ in 0..<10 {
        try await withThrowingTaskGroup { group in
          for number in 0..<20 {
            group.addTask {
              let session = try HTTPSessionManager(threads: shared)
              for _ in 0..<number % 4 {
                guard try await Self.text(from: server.url, by: session) == "ok" else { throw TestFailure("no answer") }
              }
              if number % 2 == 0 { session.finishTasksAndInvalidate() }
            }
          }
          try await group.waitForAll()
        }
        _ = try await Self.text(from: server.url, by: stays)
      }
      try Self.require(Self.threads == 1, "\(Self.threads) threads")
      // The libraries of Swift may open some descriptors in the meantime. 200 sessions would leave many more.
      try await eventually(Self.descriptors) { $0 <= before + 8 }
    }
  }

  @Test func `the end of a session ends none of another one's tasks`() async throws {
    let server = try GateServer(isOpen: false)
    let shared = try HTTPThreads()
    let stays = try HTTPSessionManager(threads: shared)
    let ends = try (0..<3).map { _ in try HTTPSessionManager(threads: shared) }
    let results = Box<[Result<HTTPReply<Data>, HTTPError>]>([])
    for session in [stays] + ends {
      for _ in 0..<2 {
        session.dataTask(server.url) { result in results.change { $0.append(result) } }.resume()
      }
    }
    try await server.waits(for: 8)
    for session in ends { session.invalidate() }
    for session in ends { await session.waitUntilInvalidated() }
    #expect(results.now.count == 6)
    for result in results.now {
      let error = #expect(throws: HTTPError.self) { try result.get() }
      #expect(error?.kind == .invalidated)
    }
    server.open()
    try await eventually(results.now.count) { $0 == 8 }
    for result in results.now.suffix(2) { #expect(try result.get().response.status == .ok) }
    #expect(await stays.tasks().isEmpty)
  }

  /// Tests a callback on a shared thread: if it waited for the thread, it would wait for itself.
  @Test func `a callback makes a session on the thread that it runs on`() async throws {
    let server = try GateServer()
    let shared = try HTTPThreads()
    let first = try HTTPSessionManager(threads: shared)
    let request = try HTTPRequest(.get, to: server.url)
    let options = HTTPTaskOptions.with { $0.executor = .immediate }
    let threads: [UInt] = try await withCheckedThrowingContinuation { continuation in
      let outer = first.dataTask(request, options: options) { _ in
        let thread = UInt(pthread_self())
        do {
          let second = try HTTPSessionManager(threads: shared)
          let inner = second.dataTask(request, options: options) { [second] result in
            withExtendedLifetime(second) {}
            continuation.resume(with: result.map { _ in [thread, UInt(pthread_self())] })
          }
          inner.resume()
        } catch {
          continuation.resume(throwing: error)
        }
      }
      outer.resume()
    }
    #expect(threads[0] == threads[1])
  }

  @Test func `a session keeps its own cookies and limits on a thread that it shares`() async throws {
    let server = try GateServer(isOpen: false) { $0.hasPrefix("GET /set") ? "Set-Cookie: a=b; Path=/\r\n" : "" }
    let shared = try HTTPThreads()
    let configuration = HTTPSessionConfiguration.with(connections: 2)
    let sessions = try (0..<3).map { _ in
      try HTTPSessionManager(baseURL: server.url, configuration: configuration, threads: shared)
    }
    let tasks = sessions.flatMap { session in
      (0..<4).map { _ in Task { try await session.data(for: session === sessions[0] ? "set" : "get").response.status } }
    }
    try await server.waits(for: 6)
    server.open()
    for task in tasks { #expect(try await task.value == .ok) }
    #expect(server.now.mostRequests == 6)
    #expect(await sessions[0].cookies().map(\.name) == ["a"])
    #expect(await sessions[1].cookies().isEmpty)
  }

  @Test func `a thread that fails fails all of its sessions, and takes no more`() async {
    await #expect(processExitsWith: .success) {
      let server = try GateServer(isOpen: false)
      let before = try Self.epolls()
      let shared = try HTTPThreads()
      let sessions = try (0..<3).map { _ in try HTTPSessionManager(threads: shared) }
      let errors = Box<[HTTPError]>([])
      for session in sessions {
        session.dataTask(server.url) { result in
          if case .failure(let error) = result { errors.change { $0.append(error) } }
        }.resume()
      }
      try await server.waits(for: 3)
      // The loop sleeps, and returns to its epoll descriptor after the cancellation. By then, that descriptor is
      // /dev/null.
      try await eventually(Self.threadStates) { $0 == ["S"] }
      let null = unsafe open("/dev/null", O_RDONLY)
      for number in try Self.epolls().subtracting(before) { dup2(null, number) }
      sessions[0].cancelAll()
      for session in sessions { await session.waitUntilInvalidated() }
      let operations = errors.now.map(\.operation).sorted()
      try Self.require(operations == ["cancel", "epoll_wait", "epoll_wait"], "\(errors.now)")
      try await eventually(Self.threads) { $0 == 0 }
      do throws(HTTPError) {
        _ = try HTTPSessionManager(threads: shared)
        throw HTTPError(.invalidated, "nothing")
      } catch {
        try Self.require(error.kind == .other, "\(error)")
      }
    }
  }

  @Test func `an engine that cannot be made takes nothing, and holds up nobody`() async throws {
    var configuration = HTTPSessionConfiguration()
    configuration.hostPolicies = ["*": .system]
    let pending = PendingCompletions(engines: 1)
    let parts = SessionEngine.Parts(
      configuration: configuration, policy: .system, overrides: try AddressOverrides([:]), observer: nil, path: nil,
      cookies: SharedCookies(), pending: pending, settings: try configuration.curlSettings(), load: nil)
    let drops = Box(0)
    let thread = try EngineThread()
    let engine = try thread.add(parts)
    func ask() {
      let command = Promise<Void> { drops.change { $0 += 1 } }
      engine.run { _ in withExtendedLifetime(command) {} }
    }
    ask()
    await withCheckedContinuation { continuation in pending.whenEmpty { continuation.resume() } }
    ask()
    try await eventually(drops.now) { $0 == 2 }
  }

  @Test(arguments: [Int.min, -1, 0, 65, Int.max]) func `thread counts below 1 or above 64 are refused`(_ count: Int) {
    let error = #expect(throws: HTTPError.self) { try HTTPThreads(count: count) }
    #expect(error?.kind == .badConfiguration)
  }
}

extension HTTPSessionConfiguration {
  static func with(connections: Int) -> HTTPSessionConfiguration {
    var configuration = HTTPSessionConfiguration()
    configuration.maximumConnectionsPerHost = connections
    return configuration
  }
}
