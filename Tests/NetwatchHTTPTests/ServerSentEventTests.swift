import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite(.timeLimit(.minutes(5))) struct ServerSentEventTests {
  private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

  private let session: HTTPSessionManager
  private let observer = RecordingObserver()

  init() throws { session = try HTTPSessionManager(observer: observer) }

  private func request(_ url: URL) throws -> HTTPRequest { try HTTPRequest(.get, to: url) }

  private func options(_ change: (inout ServerSentEventOptions) -> Void) -> ServerSentEventOptions {
    var options = ServerSentEventOptions()
    change(&options)
    return options
  }

  /// Reads all events to the end of the stream.
  private func all(_ events: ServerSentEvents) async throws -> [ServerSentEvent] {
    try await events.reduce(into: []) { $0.append($1) }
  }

  // MARK: Outages

  @Test func `10,000 events through 50 outages: none is lost, none comes twice`() async throws {
    let server = try EventServer(count: 10_000, outages: 50, preface: "retry: 1\n\n", seed: 5)
    let events = try await all(session.serverSentEvents(from: request(server.url)))
    #expect(events == server.events)
    #expect(server.requestCount >= 52)
    #expect(Set(server.values("accept")) == ["text/event-stream"])
    #expect(Set(server.values("cache-control")) == ["no-store"])
    #expect(server.values("last-event-id").last == "10000")
  }

  @Test func `a path that comes back is followed at once, however long the server wants to be left alone`() async throws
  {
    let path = ScriptedPath()
    let session = try HTTPSessionManager(path: path)
    // Each of the 50 waits would take a minute.
    let server = try EventServer(count: 10_000, outages: 50, preface: "retry: 60000\n\n", seed: 6)
    let waits = Box(0)
    let options = options {
      $0.onStateChange = { state in
        guard case .waiting(let until) = state else { return }
        waits.change { $0 += until > .now + .seconds(20) ? 1 : 0 }
        path.set(false)
        path.set(true)
      }
    }
    let events = session.serverSentEvents(from: try request(server.url), options: options)
    #expect(try await all(events) == server.events)
    #expect(waits.now >= 25)
    #expect(events.state == .closed)
    #expect(path.observers == 0)
  }

  @Test func `a server in Python behind nginx`() async throws {
    let peer = try PythonEventServer(count: 2_000, outages: 20)
    let proxy = try NginxServer(
      server: "location /events { proxy_pass http://127.0.0.1:\(peer.number)/; proxy_buffering off; }")
    for url in [peer.url, proxy.url.appending(path: "events")] {
      let events = try await all(session.serverSentEvents(from: request(url)))
      #expect(events == (1...2_000).map { ServerSentEvent(type: "square", data: "\($0)\n\($0 * $0)", id: "\($0)") })
    }
  }

  @Test func `a server that is restarted behind a proxy`() async throws {
    let port = try LoopbackPort()
    let proxy = try NginxServer(server: "location / { proxy_pass http://127.0.0.1:\(port.number)/; }")
    let states = Box<[ServerSentEventState]>([])
    let options = options {
      $0.retryDelay = .milliseconds(1)
      $0.retriedStatusCodes = [502]
      $0.maximumFailures = 3
      $0.onStateChange = { state in states.change { $0.append(state) } }
    }
    let events = session.serverSentEvents(from: try request(proxy.url), options: options)
    let error = await #expect(throws: HTTPError.self) { try await all(events) }
    #expect(error?.kind == .badServerResponse)
    #expect(error?.response?.status.code == 502)
    #expect(try await proxy.log(lines: 3).count == 3)
    try await eventually(states.now.last) { $0 == .closed }
    #expect(states.now.count { $0 == .connecting } == 3)
  }

  @Test func `a server that cannot be reached is tried again`() async throws {
    let port = try LoopbackPort()
    let options = options {
      $0.retryDelay = .milliseconds(1)
      $0.maximumFailures = 2
    }
    let url = try #require(URL(string: "http://127.0.0.1:\(port.number)/"))
    let error = await #expect(throws: HTTPError.self) {
      try await all(session.serverSentEvents(from: request(url), options: options))
    }
    #expect(error?.kind == .cannotConnect)
    // The reader hears of the error a moment before the activity ends.
    let activity = Array(repeating: [RecordingObserver.Event.began(isIndicated: false), .ended], count: 2).flatMap {
      $0
    }
    #expect(try await observer.first(4) == activity)
  }

  // MARK: Answers

  @Test(arguments: [
    ("200 OK\r\nContent-Type: text/html\r\nContent-Length: 2", HTTPError.Kind.cannotDecodeContentData),
    ("200 OK\r\nContent-Length: 2", .cannotDecodeContentData),
    ("404 Not Found\r\nContent-Type: text/event-stream\r\nContent-Length: 2", .badServerResponse),
    ("201 Created\r\nContent-Type: text/event-stream\r\nContent-Length: 2", .badServerResponse),
  ]) func `an answer that is no stream of events ends it with an error`(_ answer: String, _ kind: HTTPError.Kind)
    async throws
  {
    let server = try ScriptedServer { connection, _ in
      guard connection.readHead() != nil else { return }
      connection.write("HTTP/1.1 \(answer)\r\n\r\nno")
      connection.waitForEnd()
    }
    defer { server.stop() }
    var iterator = session.serverSentEvents(from: try request(server.url)).makeAsyncIterator()
    let error = await #expect(throws: HTTPError.self) { try await iterator.next() }
    #expect(error?.kind == kind)
    #expect(error?.response?.status.code == Int(answer.prefix(3)))
    // The stream has ended after its error.
    #expect(try await iterator.next() == nil)
    #expect(try await observer.first(2) == [.began(isIndicated: false), .ended])
  }

  @Test(arguments: ["text/event-stream", "Text/Event-Stream ; charset=utf-8", "text/event-stream;"])
  func `the type may have parameters`(_ type: String) async throws {
    let server = try ScriptedServer { connection, number in
      guard connection.readHead() != nil else { return }
      guard number == 0 else {
        _ = connection.write("HTTP/1.1 204 No Content\r\n\r\n")
        return
      }
      connection.write("HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\n\r\nretry:1\ndata: a\n\n")
    }
    defer { server.stop() }
    #expect(try await all(session.serverSentEvents(from: request(server.url))) == [ServerSentEvent(data: "a")])
  }

  @Test func `an event above the limit ends the stream, after those before it`() async throws {
    let server = try ScriptedServer { connection, _ in
      guard connection.readHead() != nil else { return }
      connection.write(Self.head + "data: a\n\ndata: \(String(repeating: "b", count: 2_000))\n\n")
      connection.waitForEnd()
    }
    defer { server.stop() }
    var iterator = session.serverSentEvents(
      from: try request(server.url), options: options { $0.maximumEventBytes = 1_000 }
    )
    .makeAsyncIterator()
    #expect(try await iterator.next() == ServerSentEvent(data: "a"))
    let error = await #expect(throws: HTTPError.self) { try await iterator.next() }
    #expect(error?.kind == .responseTooLarge)
    #expect(try await observer.first(2) == [.began(isIndicated: false), .ended])
  }

  @Test func `the ID of an earlier stream is sent, whatever is in it`() async throws {
    let server = try HeadServer { _ in "204 No Content" }
    for id in ["42", "ü €", "a\u{1}b", ""] {
      #expect(
        try await all(session.serverSentEvents(from: request(server.url()), options: options { $0.lastEventID = id }))
          == [])
    }
    // A header field cannot contain control characters, so each is replaced by a space.
    #expect(server.values("last-event-id") == [["42"], ["ü €"], ["a b"], []])
  }

  @Test func `a POST is sent once, and its stream ends with the response`() async throws {
    let server = try ScriptedServer { connection, _ in
      guard connection.readHead()?.hasPrefix("POST") ?? false, connection.read(2) == Data("{}".utf8) else { return }
      connection.write(Self.head + "data: a\n\n")
    }
    defer { server.stop() }
    let events = session.serverSentEvents(from: try HTTPRequest(.post, to: server.url), body: .data(Data("{}".utf8)))
    #expect(try await all(events) == [ServerSentEvent(data: "a")])
    #expect(events.state == .closed)
    #expect(try await observer.first(2).count == 2)
  }

  // MARK: Time

  @Test func `a connection that brings nothing is made again after its time`() async throws {
    // The server sends one event over each connection, even if a connection takes too long on a busy machine.
    let server = try ScriptedServer { connection, _ in
      guard let head = connection.readHead() else { return }
      guard !head.contains("Last-Event-ID: 2") else {
        _ = connection.write("HTTP/1.1 204 No Content\r\n\r\n")
        return
      }
      let next = head.contains("Last-Event-ID: 1") ? 2 : 1
      connection.write(Self.head + "retry:1\nid: \(next)\ndata: \(next)\n\n")
      connection.waitForEnd()
    }
    defer { server.stop() }
    let events = session.serverSentEvents(
      from: try request(server.url), options: options { $0.idleTimeout = .milliseconds(200) })
    #expect(try await all(events).map(\.data) == ["1", "2"])
  }

  @Test func `a server that accepts and does not answer is given up`() async throws {
    let server = try ScriptedServer { connection, _ in connection.waitForEnd() }
    defer { server.stop() }
    var taskOptions = HTTPTaskOptions()
    taskOptions.timeout = .milliseconds(50)
    let options = options {
      $0.retryDelay = .milliseconds(1)
      $0.maximumFailures = 2
    }
    let events = session.serverSentEvents(from: try request(server.url), options: options, taskOptions: taskOptions)
    let error = await #expect(throws: HTTPError.self) { try await all(events) }
    #expect(error?.kind == .timedOut)
    #expect(try await observer.first(4).count == 4)
  }

  @Test func `limits for requests that have an end do not hold`() async throws {
    let gate = Gate()
    let server = try ScriptedServer { connection, number in
      guard connection.readHead() != nil else { return }
      guard number == 0 else {
        _ = connection.write("HTTP/1.1 204 No Content\r\n\r\n")
        return
      }
      connection.write(Self.head + "retry:1\n")
      gate.pass()
      connection.write("data: \(String(repeating: "x", count: 100))\n\n")
    }
    defer { server.stop() }
    let mute = try ScriptedServer { connection, _ in connection.waitForEnd() }
    defer { mute.stop() }
    var configuration = HTTPSessionConfiguration()
    configuration.taskOptions.timeout = .milliseconds(100)
    configuration.taskOptions.totalTimeout = .milliseconds(100)
    configuration.taskOptions.maximumResponseBytes = 10
    let session = try HTTPSessionManager(configuration: configuration)
    let events = session.serverSentEvents(from: try request(server.url))
    let reader = Task { try await all(events) }
    try await eventually(events.state) { $0 == .open }
    // A request that begins later exceeds its time limit, while the stream stays open.
    for _ in 0..<2 {
      let error = await #expect(throws: HTTPError.self) { try await session.data(for: mute.url) }
      #expect(error?.kind == .timedOut)
    }
    gate.open()
    #expect(try await reader.value.map(\.data.count) == [100])
  }

  @Test func `a timeout that is longer than any clock can tell is none`() async throws {
    let server = try ScriptedServer { connection, number in
      guard connection.readHead() != nil else { return }
      connection.write(number == 0 ? Self.head + "data: a\n\n" : "HTTP/1.1 204 No Content\r\n\r\n")
    }
    defer { server.stop() }
    var taskOptions = HTTPTaskOptions()
    taskOptions.timeout = .seconds(Int64.max)
    let options = options { $0.retryDelay = .milliseconds(1) }
    let events = session.serverSentEvents(from: try request(server.url), options: options, taskOptions: taskOptions)
    #expect(try await all(events).map(\.data) == ["a"])
  }

  // MARK: Readers

  @Test func `a server that is faster than the reader has to wait`() async throws {
    let sent = Box(0)
    let part = Data("data: \(String(repeating: "x", count: 65_000))\n\n".utf8)
    let server = try ScriptedServer { connection, _ in
      guard connection.readHead() != nil else { return }
      connection.write(Self.head)
      while connection.write(part) { sent.change { $0 += part.count } }
    }
    defer { server.stop() }
    let events = session.serverSentEvents(from: try request(server.url))
    var iterator = events.makeAsyncIterator()
    #expect(try await iterator.next()?.data.count == 65_000)
    try await GateServer().stops(sent, in: session)
    // These events are more than those on their way.
    let count = sent.now / part.count + 20
    try #require(count < 1_000)
    for _ in 0..<count { #expect(try await iterator.next()?.data.count == 65_000) }
  }

  @Test func `a second loop goes on where the first has stopped`() async throws {
    let server = try EventServer(count: 100, outages: 3, preface: "retry: 1\n\n", seed: 8)
    let events = session.serverSentEvents(from: try request(server.url))
    var read: [ServerSentEvent] = []
    for try await event in events {
      read.append(event)
      if read.count == 10 { break }
    }
    for try await event in events { read.append(event) }
    #expect(read == server.events)
  }

  @Test func `of two tasks that read, one is told so`() async throws {
    let server = try ScriptedServer { connection, _ in
      guard connection.readHead() != nil else { return }
      connection.write(Self.head)
      connection.waitForEnd()
    }
    defer { server.stop() }
    let events = session.serverSentEvents(from: try request(server.url))
    // Either may come first, and the server sends nothing.
    await withTaskGroup(of: String?.self) { readers in
      for _ in 0..<2 {
        readers.addTask {
          do {
            _ = try await all(events)
            return nil
          } catch {
            return (error as? HTTPError)?.message
          }
        }
      }
      let told = await readers.next()
      #expect(told == "two tasks read the same events; let one of them read")
      readers.cancelAll()
    }
  }

  @Test func `the connection is closed when nobody holds the stream any more`() async throws {
    let isOver = Box(false)
    let server = try ScriptedServer { connection, _ in
      guard connection.readHead() != nil else { return }
      connection.write(Self.head + "data: a\n\n")
      connection.waitForEnd()
      isOver.change { $0 = true }
    }
    defer { server.stop() }
    for try await event in session.serverSentEvents(from: try request(server.url)) {
      #expect(event == ServerSentEvent(data: "a"))
      break
    }
    try await eventually(isOver.now) { $0 }
    #expect(try await observer.first(2) == [.began(isIndicated: false), .ended])
  }

  // MARK: Ends

  /// The moment at which a stream is ended, and what the server does until then.
  enum Point: CaseIterable {
    case beginning, connecting, open, waiting

    func answer(_ connection: ServerConnection) {
      guard self == .open || self == .waiting else { return connection.waitForEnd() }
      connection.write(ServerSentEventTests.head + "retry: 60000\n\n")
      if self == .open { connection.waitForEnd() }
    }

    func isReached(_ state: ServerSentEventState) -> Bool {
      if case .waiting = state { return self == .waiting }
      return self == .open ? state == .open : state == .connecting && self != .waiting
    }
  }

  @Test(arguments: Point.allCases, [false, true])
  func `an end from outside is heard at any point`(_ point: Point, byInvalidation: Bool) async throws {
    let accepted = Box(0)
    let server = try ScriptedServer { connection, _ in
      guard connection.readHead() != nil else { return }
      accepted.change { $0 += 1 }
      point.answer(connection)
    }
    defer { server.stop() }
    let states = Box<[ServerSentEventState]>([])
    let events = session.serverSentEvents(
      from: try request(server.url),
      options: options { $0.onStateChange = { state in states.change { $0.append(state) } } })
    let reader = Task { try await all(events) }
    if point != .beginning {
      try await eventually(accepted.now > 0 && point.isReached(events.state)) { $0 }
    }
    if byInvalidation { session.invalidate() } else { reader.cancel() }
    let error = await #expect(throws: HTTPError.self) { try await reader.value }
    #expect(error?.kind == (byInvalidation ? .invalidated : .cancelled))
    #expect(events.state == .closed)
    try await eventually(states.now.last) { $0 == .closed }
    session.invalidate()
    await session.waitUntilInvalidated()
    #expect(observer.all.count % 2 == 0)
  }

  @Test func `streams that are ended at random moments leave nothing behind`() async throws {
    let server = try EventServer(count: 200, outages: 10_000, preface: "retry: 1\n\n", seed: 9)
    weak var gone: HTTPSessionManager?
    do {
      let session = try HTTPSessionManager(observer: observer)
      gone = session
      var random = SplitMix(seed: 10)
      for _ in 0..<100 {
        let events = session.serverSentEvents(from: try request(server.url))
        let reader = Task { try? await all(events) }
        // The stream is ended before it has begun, while it connects, or after some events or outages.
        for _ in 0..<Int.random(in: 0...20, using: &random) { _ = await session.tasks() }
        reader.cancel()
        _ = await reader.value
        #expect(events.state == .closed)
      }
    }
    try await eventually(gone == nil) { $0 }
    try await eventually(observer.all.count % 2 == 0) { $0 }
  }
}
