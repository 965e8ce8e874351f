import Foundation
import HTTPTypes
import Netwatch
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of how tasks end, and that each of them ends once.
@Suite(.timeLimit(.minutes(5))) struct TaskTests {
  private let observer = RecordingObserver()
  private let ends = Box<[String]>([])

  /// Starts a server that answers no request.
  private static func silentServer(_ heard: Box<Int> = Box(0)) throws -> ScriptedServer {
    try ScriptedServer { connection, _ in
      while connection.readHead() != nil { heard.change { $0 += 1 } }
    }
  }

  private func task(of session: HTTPSessionManager, _ server: ScriptedServer) throws -> HTTPTask {
    session.dataTask(try HTTPRequest(.get, to: server.url)) { [ends] result in
      switch result {
      case .success: ends.change { $0.append("success") }
      case .failure(let error): ends.change { $0.append(error.kind.name) }
      }
    }
  }

  private func end() async throws -> [String] { try await eventually(ends.now) { !$0.isEmpty } }

  @Test func `a task that is cancelled before it begins was never active`() async throws {
    let server = try Self.silentServer()
    defer { server.stop() }
    let session = try HTTPSessionManager(observer: observer)
    let task = try task(of: session, server)
    task.cancel()
    task.resume()
    #expect(try await end() == ["cancelled"])
    #expect(task.state == .finished)
    #expect(observer.all.isEmpty)
  }

  @Test func `a task that is cancelled while the server thinks ends once`() async throws {
    let heard = Box(0)
    let server = try Self.silentServer(heard)
    defer { server.stop() }
    let session = try HTTPSessionManager(observer: observer)
    let task = try task(of: session, server)
    task.resume()
    try await eventually(heard.now) { $0 == 1 }
    task.cancel()
    task.cancel()
    #expect(try await end() == ["cancelled"])
    #expect(try await observer.first(2) == [.began(isIndicated: true), .ended])
  }

  @Test func `a suspended task is not active, and goes on where it was`() async throws {
    let goesOn = DispatchSemaphore(value: 0)
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n")
      for part in 0..<800 {
        if part == 100 { goesOn.wait() }
        guard connection.write(Data(repeating: 1, count: 10_000)) else { return }
      }
      connection.waitForEnd()
    }
    defer { server.stop() }
    let session = try HTTPSessionManager(observer: observer)
    let sizes = Box<[Int]>([])
    let task = session.dataTask(try HTTPRequest(.get, to: server.url)) { result in
      sizes.change { $0.append((try? result.get().value.count) ?? -1) }
    }
    task.resume()
    try await eventually(task.progress.received) { $0 > 0 }
    task.suspend()
    #expect(try await observer.first(2).last == .ended)
    #expect(task.state == .suspended)
    goesOn.signal()
    task.resume()
    #expect(try await eventually(sizes.now) { !$0.isEmpty } == [8_000_000])
    let events = try await observer.first(4)
    #expect(events == [.began(isIndicated: true), .ended, .began(isIndicated: true), .ended])
  }

  @Test func `a task that is cancelled while it is suspended ends its activity once`() async throws {
    let heard = Box(0)
    let server = try Self.silentServer(heard)
    defer { server.stop() }
    let session = try HTTPSessionManager(observer: observer)
    let task = try task(of: session, server)
    task.resume()
    try await eventually(heard.now) { $0 == 1 }
    task.suspend()
    task.cancel()
    #expect(try await end() == ["cancelled"])
    #expect(observer.all == [.began(isIndicated: true), .ended])
  }

  @Test func `a suspended task that nobody holds is cancelled`() async throws {
    let server = try Self.silentServer()
    defer { server.stop() }
    let session = try HTTPSessionManager(observer: observer)
    _ = try task(of: session, server)
    #expect(try await end() == ["cancelled"])
  }

  @Test func `the states of a task are a sequence, which ends after the last one`() async throws {
    let server = try Self.silentServer()
    defer { server.stop() }
    let session = try HTTPSessionManager()
    let task = try task(of: session, server)
    var states = task.states.makeAsyncIterator()
    #expect(await states.next(isolation: #isolation) == .suspended)
    for _ in 0..<2 {
      task.resume()
      #expect(await states.next(isolation: #isolation) == .running)
      task.suspend()
      #expect(await states.next(isolation: #isolation) == .suspended)
    }
    task.cancel()
    #expect(await states.next(isolation: #isolation) == .finished)
    #expect(await states.next(isolation: #isolation) == nil)
    #expect(await task.states.reduce(into: [HTTPTask.State]()) { $0.append($1) } == [.finished])
  }

  @Test func `a task that waits for a path is in a state of its own`() async throws {
    let server = try Self.silentServer()
    defer { server.stop() }
    let path = ScriptedPath(false)
    let session = try HTTPSessionManager(path: path)
    let options = HTTPTaskOptions.with { $0.reachabilityTimeout = .seconds(60) }
    let task = session.dataTask(try HTTPRequest(.get, to: server.url), options: options) { _ in }
    var states = task.states.makeAsyncIterator()
    #expect(await states.next(isolation: #isolation) == .suspended)
    task.resume()
    #expect(await states.next(isolation: #isolation) == .waiting)
    path.set(true)
    #expect(await states.next(isolation: #isolation) == .running)
    session.invalidate()
    #expect(await states.next(isolation: #isolation) == .finished)
  }

  @Test func `the states of a suspended task that nobody holds end with it`() async throws {
    let server = try Self.silentServer()
    defer { server.stop() }
    let session = try HTTPSessionManager()
    let states = try task(of: session, server).states
    #expect(await states.reduce(into: [HTTPTask.State]()) { $0.append($1) }.last == .finished)
  }

  @Test func `awaiting is cancelled with its task`() async throws {
    let heard = Box(0)
    let server = try Self.silentServer(heard)
    defer { server.stop() }
    let session = try HTTPSessionManager(observer: observer)
    let request = try HTTPRequest(.get, to: server.url)
    let waiting = Task { try await session.data(for: request) }
    try await eventually(heard.now) { $0 == 1 }
    waiting.cancel()
    let error = await #expect(throws: HTTPError.self) { try await waiting.value }
    #expect(error?.kind == .cancelled)
    #expect(try await observer.first(2) == [.began(isIndicated: true), .ended])
  }

  @Test func `an invalidated manager ends its tasks, takes no more, and then says nothing any more`() async throws {
    let heard = Box(0)
    let server = try Self.silentServer(heard)
    defer { server.stop() }
    let session = try HTTPSessionManager(observer: observer)
    let running = try (0..<3).map { _ in try task(of: session, server) }
    for task in running { task.resume() }
    let suspended = try task(of: session, server)
    try await eventually(heard.now) { $0 == 3 }
    session.invalidate()
    await session.waitUntilInvalidated()
    #expect(ends.now == Array(repeating: "invalidated", count: 4))
    #expect(observer.all.filter { $0 == .ended }.count == 3)
    suspended.resume()
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: HTTPRequest(.get, to: server.url)) }
    #expect(error?.kind == .invalidated)
    #expect(ends.now.count == 4)
    #expect(observer.all.count == 6)
  }

  @Test func `tasks of a loop that cannot go on end with what happened`() async throws {
    let server = try Self.silentServer(Box(0))
    defer { server.stop() }
    let session = try HTTPSessionManager(observer: observer)
    let errors = Box<[HTTPError]>([])
    let tasks = try (0..<3).map { _ in
      session.dataTask(try HTTPRequest(.get, to: server.url)) { result in
        if case .failure(let error) = result { errors.change { $0.append(error) } }
      }
    }
    for task in tasks[1...] { task.resume() }
    #expect(try await observer.first(2).count == 2)
    session.engines.handles[0].run { $0.loopFailed(SystemError(operation: "epoll_wait", code: EBADF)) }
    await session.waitUntilInvalidated()
    #expect(errors.now.map(\.operation) == Array(repeating: "epoll_wait", count: 3))
    #expect(errors.now.map(\.code) == Array(repeating: EBADF, count: 3))
    #expect(try await observer.first(4).suffix(2) == [.ended, .ended])
  }

  @Test func `a manager that is to finish lets its tasks come to their end`() async throws {
    let goesOn = DispatchSemaphore(value: 0)
    let heard = Box(0)
    let server = try ScriptedServer { connection, _ in
      while connection.readHead() != nil {
        heard.change { $0 += 1 }
        goesOn.wait()
        connection.write("HTTP/1.1 204 No Content\r\n\r\n")
      }
    }
    defer { server.stop() }
    let session = try HTTPSessionManager(observer: observer)
    let task = try task(of: session, server)
    task.resume()
    try await eventually(heard.now) { $0 == 1 }
    session.finishTasksAndInvalidate()
    goesOn.signal()
    await session.waitUntilInvalidated()
    #expect(ends.now == ["success"])
    #expect(observer.all == [.began(isIndicated: true), .ended])
  }

  @Test func `a manager that is released ends its tasks and its thread`() async throws {
    let heard = Box(0)
    let server = try Self.silentServer(heard)
    defer { server.stop() }
    var session: HTTPSessionManager? = try HTTPSessionManager(observer: observer)
    let task = try self.task(of: #require(session), server)
    task.resume()
    try await eventually(heard.now) { $0 == 1 }
    weak let released = session
    session = nil
    #expect(released == nil)
    #expect(try await end() == ["invalidated"])
    #expect(try await observer.first(2) == [.began(isIndicated: true), .ended])
  }

  @Test func `a callback runs where its caller wants it, after the progress`() async throws {
    let server = try NginxServer()
    try server.serve(String(repeating: "x", count: 100_000), as: "large.txt")
    let session = try HTTPSessionManager(baseURL: server.url)
    let queue = DispatchQueue(label: "test")
    let key = DispatchSpecificKey<Bool>()
    queue.setSpecific(key: key, value: true)
    let calls = Box<[String]>([])
    var options = HTTPTaskOptions()
    options.executor = HTTPExecutor { queue.async(execute: $0) }
    options.onProgress = { _ in
      calls.change { $0.append(DispatchQueue.getSpecific(key: key) == true ? "progress" : "elsewhere") }
    }
    let task = session.dataTask(try HTTPRequest(.get, to: session.url(for: "large.txt")), options: options) { _ in
      calls.change { $0.append(DispatchQueue.getSpecific(key: key) == true ? "completion" : "elsewhere") }
    }
    task.resume()
    let all = try await eventually(calls.now) { $0.last == "completion" }
    #expect(Set(all) == ["progress", "completion"])
    #expect(all.filter { $0 == "completion" }.count == 1)
  }

  @Test func `callbacks can run on an actor, and touch its state`() async throws {
    let server = try NginxServer()
    let session = try HTTPSessionManager(baseURL: server.url)
    let counter = Counter()
    var options = HTTPTaskOptions()
    options.executor = HTTPExecutor(on: counter)
    options.onProgress = { _ in counter.assumeIsolated { $0.progress += 1 } }
    let request = try HTTPRequest(.get, to: session.url(for: "method"))
    for _ in 0..<10 {
      session.dataTask(request, options: options) { _ in counter.assumeIsolated { $0.ends += 1 } }.resume()
    }
    session.finishTasksAndInvalidate()
    await session.waitUntilInvalidated()
    #expect(await counter.ends == 10)
    #expect(await counter.progress > 0)
  }

  private actor Counter {
    var ends = 0
    var progress = 0
  }

  @Test func `a busy queue delays a completion, and does not lose it`() async throws {
    let server = try NginxServer()
    let session = try HTTPSessionManager(baseURL: server.url, observer: observer)
    let queue = DispatchQueue(label: "busy")
    let goesOn = DispatchSemaphore(value: 0)
    queue.async { goesOn.wait() }
    var options = HTTPTaskOptions()
    options.executor = HTTPExecutor { queue.async(execute: $0) }
    let request = try HTTPRequest(.get, to: session.url(for: "method"))
    for _ in 0..<10 {
      session.dataTask(request, options: options) { [ends] _ in ends.change { $0.append("called") } }.resume()
    }
    _ = try await server.log(lines: 10)
    // The busy queue does not hold up other requests.
    _ = try await session.data(for: request)
    #expect(ends.now.isEmpty)
    goesOn.signal()
    #expect(try await eventually(ends.now) { $0.count == 10 }.count == 10)
    #expect(try await observer.first(22).count == 22)
  }

  @Test func `a completion that its executor drops ends its activity all the same`() async throws {
    let server = try NginxServer()
    let session = try HTTPSessionManager(baseURL: server.url, observer: observer)
    var options = HTTPTaskOptions()
    options.executor = HTTPExecutor { _ in }
    let request = try HTTPRequest(.get, to: session.url(for: "method"))
    session.dataTask(request, options: options) { _ in }.resume()
    #expect(try await observer.first(2) == [.began(isIndicated: true), .ended])
    session.invalidate()
    await session.waitUntilInvalidated()
  }

  @Test func `an immediate completion runs on the session's thread, and what it asks for goes out`() async throws {
    let server = try NginxServer()
    let session = try HTTPSessionManager(baseURL: server.url, observer: observer)
    let request = try HTTPRequest(.get, to: session.url(for: "method"))
    var options = HTTPTaskOptions()
    options.executor = .immediate
    let threads = Box<[UInt]>([])
    await withCheckedContinuation { [options] (continuation: CheckedContinuation<Void, Never>) in
      @Sendable func ask(_ left: Int) {
        guard left > 0 else { return continuation.resume() }
        session.dataTask(request, options: options) { result in
          if case .success = result { threads.change { $0.append(UInt(pthread_self())) } }
          ask(left - 1)
        }.resume()
      }
      ask(100)
    }
    #expect(threads.now.count == 100 && Set(threads.now).count == 1)
    #expect(try await observer.first(200).count == 200)
  }

  @Test func `a task of a session that has ended completes, but not within the call that made it`()
    async throws
  {
    let server = try NginxServer()
    let session = try HTTPSessionManager(baseURL: server.url)
    let request = try HTTPRequest(.get, to: session.url(for: "method"))
    session.invalidate()
    await session.waitUntilInvalidated()
    var options = HTTPTaskOptions()
    options.executor = .immediate
    let (isWithin, isCalling) = (Box<Bool?>(nil), Box(true))
    let caller = pthread_self()
    session.dataTask(request, options: options) { _ in
      isWithin.change { $0 = isCalling.now && pthread_self() == caller }
    }.resume()
    isCalling.change { $0 = false }
    #expect(try await eventually(isWithin.now) { $0 != nil } == false)
  }

  @Test func `an awaited request of a session that has ended fails, and is over`() async throws {
    let session = try HTTPSessionManager()
    let request = try HTTPRequest(.get, to: #require(URL(string: "http://127.0.0.1:1/")))
    session.invalidate()
    await session.waitUntilInvalidated()
    for _ in 0..<2 {
      let error = await #expect(throws: HTTPError.self) { try await session.data(for: request) }
      #expect(error?.kind == .invalidated)
    }
    await session.waitUntilInvalidated()
  }
}
