import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of what a session leaves behind.
@Suite(.timeLimit(.minutes(5))) struct LifetimeTests {
  private static func server(head: String = "") throws -> ScriptedServer {
    try ScriptedServer { connection, _ in
      while connection.readHead() != nil {
        guard connection.write("HTTP/1.1 200 OK\r\n\(head)Content-Length: 2\r\n\r\nok") else { return }
      }
    }
  }

  @Test func `a finished task and a stream that was read keep nothing of the session alive`() async throws {
    let server = try Self.server()
    defer { server.stop() }
    weak var observer: RecordingObserver?
    let (task, stream) = try await {
      let strong = RecordingObserver()
      observer = strong
      let session = try HTTPSessionManager(observer: strong)
      let request = try HTTPRequest(.get, to: server.url)
      let ends = Box(0)
      let task = session.dataTask(request) { _ in ends.change { $0 += 1 } }
      task.resume()
      let stream = try await session.stream(request)
      for try await _ in stream.body {}
      try await eventually(ends.now) { $0 == 1 }
      session.invalidate()
      await session.waitUntilInvalidated()
      return (task, stream)
    }()
    try await eventually(observer == nil) { $0 }
    task.cancel()
    #expect(task.state == .finished)
    #expect(stream.response.status == .ok)
  }

  @Test(arguments: [("short", 100, 1), ("accepted", 200_000, 0), ("rejected", 290_000, 0)])
  func `long heads do not stay with idle handles`(_ name: String, _ size: Int, _ kept: Int) async throws {
    let line = "X-Filler: \(String(repeating: "x", count: 998))\r\n"
    let server = try Self.server(head: String(repeating: line, count: size / line.utf8.count))
    defer { server.stop() }
    let session = try HTTPSessionManager()
    for _ in 0..<3 { _ = try? await session.data(for: HTTPRequest(.get, to: server.url)) }
    let bytes: [Int] = await withCheckedContinuation { continuation in
      session.engines.handles[0].run { continuation.resume(returning: $0.curl?.idle.map(\.headBytes) ?? []) }
    }
    #expect(bytes.count == kept)
    #expect(bytes.allSatisfy { $0 < 16_384 })
  }

  /// Tests callers whose requests end together. Such callers wake each other.
  @Test func `a caller whose executor is busy holds up no other caller`() async throws {
    let server = try ScriptedServer { connection, _ in while connection.readHead() != nil {} }
    defer { server.stop() }
    let session = try HTTPSessionManager()
    let request = try HTTPRequest(.get, to: server.url)
    let executor = OneThreadExecutor()
    let busy = (0..<5).map { _ in Task(executorPreference: executor) { try await session.data(for: request) } }
    let others = (0..<30).map {
      Task(priority: [.high, .medium, .low][$0 % 3]) { try await session.data(for: request) }
    }
    try await eventually(await session.tasks().count) { $0 == 35 }
    let end = DispatchSemaphore(value: 0)
    executor.queue.async { end.wait() }
    session.invalidate()
    for task in others { await #expect(throws: HTTPError.self) { try await task.value } }
    end.signal()
    for task in busy { await #expect(throws: HTTPError.self) { try await task.value } }
    await session.waitUntilInvalidated()
  }

  /// Tests a program that ends before its session: OpenSSL would free memory that the session's thread still uses.
  @Test func `a program that ends beside its session is not cleaned up under it`() throws {
    let server = try Self.server()
    defer { server.stop() }
    for _ in 0..<20 {
      #expect(try Programs.run([Programs.httpProbe, "leave", server.url.absoluteString]).isEmpty)
    }
  }

  @Test func `a task that is over holds no closure of its options`() async throws {
    final class Owner: Sendable { let task = Box<HTTPTask?>(nil) }
    let server = try NginxServer()
    let session = try HTTPSessionManager(baseURL: server.url)
    let isDone = Box(false)
    var owner: Owner? = Owner()
    weak let weakOwner = owner
    if let owner {
      let options = HTTPTaskOptions.with { $0.onProgress = { [owner] _ in _ = owner.task } }
      let task = session.dataTask("method", options: options) { _ in isDone.change { $0 = true } }
      owner.task.change { $0 = task }
      task.resume()
    }
    try await eventually(isDone.now) { $0 }
    owner = nil
    try await eventually(weakOwner == nil) { $0 }
  }

  @Test func `a session that is over does not hold its observer`() async throws {
    final class Owner: RequestObserver, Sendable {
      let session = Box<HTTPSessionManager?>(nil)
      func began(_ id: RequestID, isIndicated: Bool) {}
      func ended(_ id: RequestID) {}
    }
    let server = try NginxServer()
    var owner: Owner? = Owner()
    weak let weakOwner = owner
    if let owner {
      let session = try HTTPSessionManager(baseURL: server.url, observer: owner)
      owner.session.change { $0 = session }
      _ = try await session.data(for: "method")
      session.invalidate()
      await session.waitUntilInvalidated()
    }
    owner = nil
    try await eventually(weakOwner == nil) { $0 }
  }

  @Test func `a request that cannot be sent has no metrics of the one before`() async throws {
    final class Recorder: HTTPEventObserver {
      let metrics = Box<[HTTPMetrics]>([])
      func handle(_ event: HTTPEvent) {
        if case .finished(_, let metrics, _) = event.kind { self.metrics.change { $0.append(metrics) } }
      }
    }
    let (server, recorder) = (try NginxServer(), Recorder())
    var configuration = HTTPSessionConfiguration()
    configuration.eventObservers = [recorder]
    let session = try HTTPSessionManager(baseURL: server.url, configuration: configuration)
    _ = try await session.data(for: "method")
    let head = try HTTPRequest(.head, to: session.url(for: "method"))
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: head, body: .text("x")) }
    #expect(error?.kind == .cannotEncodeRequest)
    let metrics = try await eventually(recorder.metrics.now) { $0.count == 2 }
    #expect(metrics[0].total > .zero)
    #expect(metrics[1].total == .zero && metrics[1].bytesReceived == 0 && metrics[1].protocolVersion.isEmpty)
  }
}

private final class OneThreadExecutor: TaskExecutor {
  let queue = DispatchQueue(label: "one thread")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
