import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

private final class EventRecorder: HTTPEventObserver {
  let events = Box<[HTTPEvent]>([])
  func handle(_ event: HTTPEvent) { events.change { $0.append(event) } }
  var words: [String] { events.now.map { EventRecorder.word($0) } }

  static func word(_ event: HTTPEvent) -> String {
    switch event.kind {
    case .created: "created"
    case .waiting: "waiting"
    case .sent(let request, let attempt): "sent \(attempt) \(request.path ?? "")"
    case .suspended: "suspended"
    case .resumed: "resumed"
    case .received(let response): "received \(response.status.code)"
    case .redirected(let request): "redirected \(request.path ?? "")"
    case .retrying(_, let error): "retrying \(error?.kind.name ?? "")"
    case .finished(.success(let response), _, _): "finished \(response.status.code)"
    case .finished(.failure(let error), _, _): "finished \(error.kind.name)"
    case .serialized(.success(let value), _, by: let serializer): "serialized \(value) by \(serializer)"
    case .serialized(.failure(let error), _, by: let serializer): "refused \(error.kind.name) by \(serializer)"
    }
  }
}

/// Tests of the events that a session reports about its tasks, and of the list of its tasks.
@Suite(.timeLimit(.minutes(5))) struct EventTests {
  private let server: ScriptedServer
  private let session: HTTPSessionManager
  private let recorder = EventRecorder()
  private let gate = Gate()

  init() throws {
    server = try ScriptedServer { [gate] connection, _ in
      var refusals = 0
      while let head = connection.readHead() {
        let path = head.split(separator: " ").dropFirst().first ?? ""
        switch path {
        case "/away": connection.write("HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n")
        case "/moved": connection.write("HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 4\r\n\r\naway")
        case "/busy" where refusals == 0:
          refusals += 1
          connection.write("HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n")
          return
        case "/broken": return
        case "/half":
          connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
          return
        case "/large":
          connection.write("HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n")
          connection.write(Data(repeating: 1, count: 200_000))
        case "/slow":
          connection.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
          gate.pass()
          connection.write("cd")
        default: connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
      }
    }
    var configuration = HTTPSessionConfiguration()
    configuration.eventObservers = [recorder]
    session = try HTTPSessionManager(baseURL: server.url, configuration: configuration)
  }

  private func finished(_ count: Int) async throws -> [String] {
    try await eventually(recorder.words) { words in words.count { $0.hasPrefix("finished") } == count }
  }

  @Test func `an observer hears of all that happens to a task, with what it is about`() async throws {
    _ = try await session.data(for: "away", options: .with { $0.label = "first" })
    #expect(
      try await finished(1) == [
        "created", "sent 1 /away", "received 302", "redirected /there", "sent 2 /there", "received 200", "finished 200",
      ])
    let events = recorder.events.now
    #expect(Set(events.map(\.task)).count == 1)
    #expect(events.first?.task.label == "first" && events.first?.task.kind == .data)
    #expect(events.allSatisfy { $0.request.path == "/away" })
    #expect(zip(events, events.dropFirst()).allSatisfy { $0.date <= $1.date })
    guard case .finished(_, let metrics, _) = events.last?.kind else { return }
    #expect(metrics.furtherAttempts == 1 && metrics.bytesReceived == 2)
  }

  @Test func `failures and retries are told`() async throws {
    await #expect(throws: HTTPError.self) { try await session.data(for: "broken") }
    #expect(
      try await finished(1)
        == ["created", "sent 1 /broken", "finished \(HTTPError.Kind.connectionLost.name)"])
    recorder.events.change { $0 = [] }
    let options = HTTPTaskOptions.with { $0.interceptors = [RetryInterceptor()] }
    _ = try? await session.data(for: "busy", options: options)
    let words = try await finished(1)
    #expect(words.prefix(5) == ["created", "sent 1 /busy", "received 503", "retrying ", "sent 2 /busy"])
  }

  @Test func `what a serializer makes of a response is told, with the time that it has taken`() async throws {
    let reply = try await session.send("x", as: TextResponseSerializer())
    #expect(reply.value == "ok" && reply.serializationDuration ?? .zero > .zero)
    try await eventually(recorder.words.last) { $0 == "serialized ok by TextResponseSerializer" }
    let result = Box<Bool?>(nil)
    session.send("x", as: TextResponseSerializer()) { reply in
      result.change { $0 = (try? reply.get().serializationDuration) != nil }
    }
    #expect(try await eventually(result.now) { $0 != nil } == true)
    await #expect(throws: HTTPError.self) { try await session.send("x", as: Int.self) }
    try await eventually(recorder.words.last) {
      $0 == "refused \(HTTPError.Kind.cannotDecodeContentData.name) by DecodableResponseSerializer<Int>"
    }
    // A task that fails before its serializer, or that has no serializer, causes no such event.
    await #expect(throws: HTTPError.self) { try await session.send("broken", as: TextResponseSerializer()) }
    #expect(try await session.data(for: "x").serializationDuration == nil)
    let words = try await finished(5)
    #expect(words.count { $0.hasPrefix("serialized") || $0.hasPrefix("refused") } == 3)
    #expect(words.last == "finished 200")
  }

  /// Returns the bodies that the observer has got with the ends of tasks, when there are `count` of them.
  private func bodies(_ count: Int) async throws -> [HTTPEvent.Body] {
    _ = try await finished(count)
    return recorder.events.now.compactMap { if case .finished(_, _, let body) = $0.kind { body } else { nil } }
  }

  @Test func `the end of a task is told with its body, or with its file`() async throws {
    let folder = try TemporaryFolder()
    _ = try await session.send("x", as: TextResponseSerializer())
    _ = try await session.download("x", to: .file(folder.url("x")))
    for try await _ in try await session.stream("x").body {}
    await #expect(throws: HTTPError.self) { try await session.data(for: "half") }
    await #expect(throws: HTTPError.self) { try await session.download("x", to: .file(folder.url("no/folder"))) }
    let bodies = try await bodies(5)
    #expect(bodies.map(\.count) == [2, 2, 2, 2, 0])
    #expect(bodies.map(\.data) == [Data("ok".utf8), nil, nil, nil, nil])
    #expect(bodies.map(\.file) == [nil, folder.url("x"), nil, nil, nil])
  }

  @Test func `an observer gets the caller's body, and a sequence keeps it only for who wants it`() async throws {
    let events = [session.taskEvents(), session.taskEvents(includesBodies: true)]
    let reply = try await session.data(for: "large")
    func place(_ data: Data?) -> UInt? { unsafe data?.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } }
    let body = try #require(await bodies(1).first)
    #expect(body.count == 200_000)
    #expect(place(body.data) == place(reply.value))
    session.invalidate()
    var counts: [Int?] = []
    for sequence in events {
      for await event in sequence {
        guard case .finished(_, _, let body) = event.kind else { continue }
        #expect(body.count == 200_000)
        counts.append(body.data?.count)
      }
    }
    #expect(counts == [nil, 200_000])
  }

  @Test func `nobody measures a serializer where nobody observes`() async throws {
    let session = try HTTPSessionManager(baseURL: server.url)
    #expect(try await session.send("x", as: TextResponseSerializer()).serializationDuration == nil)
  }

  @Test func `each attempt has its metrics`() async throws {
    let reply = try await session.data(for: "away")
    #expect(reply.allMetrics.map(\.furtherAttempts) == [0, 1])
    #expect(reply.allMetrics.map(\.bytesReceived) == [0, 2])
    #expect(reply.allMetrics.last?.total == reply.metrics.total)
    #expect(reply.allMetrics.allSatisfy { $0.total > .zero && $0.protocolVersion == "1.1" })
    #expect(reply.allMetrics.map(\.reusedConnection) == [false, true])
    // If the caller is asked about a redirect, its attempt is broken off.
    let asked = try await session.data(for: "moved", options: .with { $0.onRedirect = { $0.next } })
    #expect(asked.allMetrics.count == 2 && asked.allMetrics[0].firstByte != nil)
    #expect(asked.allMetrics[0].total > .zero)
    let retried = try await session.data(
      for: "busy", options: .with { $0.interceptors = [RetryInterceptor()] })
    #expect(retried.allMetrics.count == retried.metrics.furtherAttempts + 1)
    #expect(retried.allMetrics.count > 1 && retried.allMetrics.allSatisfy { $0.total > .zero })
    #expect(try await session.data(for: "x").allMetrics.count == 1)
  }

  @Test func `a transport's attempts have their metrics`() async throws {
    var configuration = HTTPSessionConfiguration()
    configuration.transport = ScriptedTransport { request, _ in
      request.path == "/a" ? HTTPTransportAnswer(.found, headerFields: [.location: "/b"]) : HTTPTransportAnswer(.ok)
    }
    let session = try HTTPSessionManager(baseURL: server.url, configuration: configuration)
    #expect(try await session.data(for: "a").allMetrics.map(\.furtherAttempts) == [0, 1])
  }

  @Test func `a task, a call and a reply say what they are, without secrets`() async throws {
    let place = "http://\(server.url.host() ?? ""):\(server.url.port ?? 0)"
    let task = session.dataTask("x?token=secret", options: .with { $0.label = "first" }) { _ in }
    #expect("\(task)" == "GET \(place)/x?… 'first' (suspended)")
    task.cancel()
    #expect("\(HTTPCall(nil, "users?token=secret", body: .text("secret")))" == "POST users?…")
    for (url, title) in [
      ("http://ali:secret@h/x#secret", "http://h/x"), ("//ali:secret@h", "//h"), ("a//b@c/d", "a//b@c/d"),
      ("HTTPS://a@b:secret@h:1?x=//y@z", "HTTPS://h:1?…"),
    ] { #expect("\(url.makeCall())" == "GET \(title)") }
    let request = HTTPRequest(
      method: .put, scheme: "http", authority: "ali:secret@h:81", path: "/x?secret",
      headerFields: [.authorization: "secret"])
    #expect("\(HTTPCall(request))" == "PUT http://h:81/x?…")
    let reply = try await session.send("away", as: TextResponseSerializer())
    #expect("\(reply)".hasPrefix("GET \(place)/there: 200 OK, 2 bytes in 0.0"))
    let lines = String(reflecting: reply).split(separator: "\n")
    #expect(lines.count == 5 && lines[0] == "\(reply)" && lines[1] == "value: String")
    #expect(lines[2].hasPrefix("attempt 1: 0.0") && lines[2].hasSuffix(" over HTTP/1.1 on a new connection"))
    #expect(lines[3].hasSuffix("on a used connection") && lines[4].hasPrefix("serialization: "))
    #expect(!String(reflecting: reply).contains("secret"))
  }

  @Test func `a sequence tells the same, to several readers, until the session ends`() async throws {
    let readers = [session.taskEvents(), session.taskEvents()].map { events in
      Task {
        var words: [String] = []
        for await event in events { words.append(EventRecorder.word(event)) }
        return words
      }
    }
    let task = session.dataTask("slow") { _ in }
    task.resume()
    try await eventually(task.progress.received) { $0 == 2 }
    task.suspend()
    try await eventually(task.state) { $0 == .suspended }
    gate.open()
    task.resume()
    _ = try await finished(1)
    session.invalidate()
    for reader in readers {
      #expect(
        await reader.value == [
          "created", "sent 1 /slow", "received 200", "suspended", "resumed", "finished 200",
        ])
    }
    var late = 0
    for await _ in session.taskEvents() { late += 1 }
    #expect(late == 0)
  }

  @Test func `tasks are listed by kind, in their order, and a listed one does what its owner's does`() async throws {
    let folder = try TemporaryFolder()
    let first = session.dataTask("slow", options: .with { $0.label = "a" }) { _ in }
    first.resume()
    let second = session.uploadTask("slow", from: .text("x")) { _ in }
    let third = session.downloadTask("slow", to: .file(folder.url("x"))) { _ in }
    let awaited = Task { [session] in try await session.data(for: "slow", options: .with { $0.label = "b" }) }
    let stream = try await session.stream("slow")
    let all = try await eventually(await session.tasks()) { $0.count == 5 }
    #expect(Array(all.prefix(3)) == [first, second, third])
    #expect(Set(all.map(\.info.kind)) == [.data, .upload, .download, .stream])
    #expect(await session.tasks(of: .data).map(\.info.label) == ["a", "b"])
    #expect(await session.tasks(of: .upload).first?.request.method == .post)
    #expect(all[1].state == .suspended)
    // A suspended task can be resumed by anybody who holds it, also by means of the list.
    all[1].resume()
    try await eventually(second.progress.received) { $0 == 2 }
    // An awaited request can be listed, watched and cancelled like any other.
    let listed = try #require(all.first { $0.info.label == "b" })
    try await eventually(listed.progress.received) { $0 == 2 }
    listed.cancel()
    await #expect(throws: HTTPError.self) { try await awaited.value }
    #expect(listed.state == .finished)
    session.cancelAll()
    try await eventually(third.state == .finished && first.state == .finished) { $0 }
    #expect(await session.tasks().isEmpty)
    #expect(try await session.data(for: "x").response.status == .ok)
    withExtendedLifetime(stream) {}
  }

  @Test func `progress is a sequence that ends with its task`() async throws {
    let task = session.dataTask("slow") { _ in }
    let reader = Task {
      var received: [Int64] = []
      for await progress in task.progressUpdates() { received.append(progress.received) }
      return received
    }
    task.resume()
    try await eventually(task.progress.received) { $0 == 2 }
    gate.open()
    let received = await reader.value
    #expect(received == received.sorted() && received.last == 4)
    #expect(await task.progressUpdates().reduce(into: []) { $0.append($1.received) } == [4])
  }
}
