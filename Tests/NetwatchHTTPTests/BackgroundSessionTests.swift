import Foundation
import Glibc
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Background sessions as a program uses them, with the worker as a process of its own.
@Suite(.timeLimit(.minutes(5))) struct BackgroundSessionTests {
  private let server: ScriptedServer
  private let folder: TemporaryFolder
  /// No two tests share a session.
  private let identifier = "test \(UInt32.random(in: 0 ... .max))/ü"

  init() throws {
    try StateFolder.use()
    (server, folder) = (try .echoing(), try TemporaryFolder())
  }

  private func session(
    _ configuration: HTTPSessionConfiguration = .init(), policy: SecurityPolicy = .system, storesSecrets: Bool = false
  ) throws -> BackgroundSession {
    try HTTPSessionManager.background(
      identifier, baseURL: server.url, configuration: configuration, policy: policy, storesSecrets: storesSecrets,
      worker: URL(filePath: Programs.path("netwatch-http")))
  }

  private var spool: TransferSpool { get throws { try TransferSpool(identifier) } }

  /// The next end that the session tells.
  private func nextEnd(_ session: BackgroundSession) async throws -> BackgroundEnd {
    for await end in session.finishedEvents { return end }
    throw TestFailure("the events have ended")
  }

  /// The error with which a task is refused; nil if it is made.
  private func refusal(_ make: () async throws -> BackgroundTask) async -> HTTPError? {
    do { _ = try await make() } catch { return error as? HTTPError }
    return nil
  }

  // MARK: Ends

  @Test func `a completion gets the file, and nothing is left`() async throws {
    let session = try session()
    let target = folder.url("there/it.json")
    let result = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<_, any Error>) in
      Task {
        do {
          let task = try await session.downloadTask("it", to: target, createsFolders: true) {
            continuation.resume(returning: $0)
          }
          #expect(task.state == .suspended)
          try task.resume()
        } catch { continuation.resume(throwing: error) }
      }
    }
    let reply = try result.get()
    #expect(reply.value == target && reply.response.status == .ok)
    #expect(try JSONDecoder().decode(Echo.self, from: Data(contentsOf: target)) == Echo(method: "GET", path: "/it"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: target.deletingLastPathComponent().path) == ["it.json"])
    try await eventually(await session.tasks().count) { $0 == 0 }
  }

  @Test func `a later session finds its tasks, and an end is told until it is acknowledged`() async throws {
    var id = ""
    do {
      let session = try session()
      let task = try await session.downloadTask("it", to: folder.url("it"), options: .with { $0.label = "mine" })
      id = task.id
      // The program ends before the task begins.
    }
    do {
      let session = try session()
      let task = try #require(await session.tasks().first)
      #expect(task.id == id && task.state == .suspended && task.label == "mine" && task.request.path == "/it")
      try task.resume()
      let end = try await nextEnd(session)
      #expect(end.id == id && end.label == "mine" && end.file == folder.url("it"))
      // It ends before it takes note.
    }
    do {
      let session = try session()
      let end = try await nextEnd(session)
      #expect(end.id == id)
      #expect(try end.result.get().status == .ok)
      try await end.acknowledge()
      #expect(await session.tasks().isEmpty)
    }
    // No later task ever has the same id, or its number in the list.
    let other = try await session().downloadTask("it", to: folder.url("other"))
    #expect(TransferRecord.number(of: other.id) == (TransferRecord.number(of: id) ?? 0) + 1)
    try other.cancel()
  }

  @Test func `an upload from memory is kept in the spool, and the response is told`() async throws {
    let session = try session()
    let task = try await session.uploadTask("it", from: .data(Data("hello".utf8), contentType: "text/plain"))
    let body = try #require(try spool.record(task.id)?.file)
    #expect(try String(contentsOfFile: body, encoding: .utf8) == "hello")
    try task.resume()
    let end = try await nextEnd(session)
    let echo = try JSONDecoder().decode(Echo.self, from: await end.body())
    #expect(echo == Echo(method: "POST", path: "/it", type: "text/plain", body: "hello"))
    try await end.acknowledge()
    #expect(!FileManager.default.fileExists(atPath: body))
  }

  @Test func `an upload from a file sends the file, and any status is its response`() async throws {
    let session = try session()
    let file = try folder.write("content", to: "it.txt")
    let task = try await session.uploadTask(HTTPCall(.put, "refused"), from: .file(file))
    try task.resume()
    let end = try await nextEnd(session)
    #expect(try end.result.get().status.code == 422)
    #expect(try JSONDecoder().decode(Echo.self, from: await end.body()).body == "content")
    try await end.acknowledge()
    #expect(folder.text(of: "it.txt") == "content", "the file belongs to the caller")
  }

  @Test func `a cancelled task ends with that`() async throws {
    let session = try session()
    let task = try await session.downloadTask("it", to: folder.url("it"))
    try task.cancel()
    let end = try await nextEnd(session)
    #expect(throws: HTTPError.self) { try end.result.get() }
    if case .failure(let error) = end.result { #expect(error.kind == .cancelled) }
    try await eventually(task.state) { $0 == .finished }
    #expect(server.connectionCount == 0)
  }

  @Test func `all tasks can be waited for`() async throws {
    let session = try session()
    for number in 0..<6 {
      try await session.downloadTask("it/\(number)", to: folder.url("\(number)")).resume()
    }
    _ = try await session.downloadTask("it", to: folder.url("suspended"))
    await session.waitUntilFinished()
    #expect(try folder.names == (0..<6).map { "\($0)" })
  }

  // MARK: After a crash

  @Test func `a request that must not be repeated, and was on its way, is not sent again`() async throws {
    let session = try session()
    let task = try await session.uploadTask("it", from: .data(Data("hello".utf8)))
    // The worker has ended between the request and the response.
    try spool.change(task.id) {
      $0.phase = .sending; $0.resume()
    }
    try session.startWorker()
    let end = try await nextEnd(session)
    guard case .failure(let error) = end.result else { throw TestFailure("a response") }
    #expect(error.kind == .outcomeUnknown)
    // What the worker would begin by mistake comes before the next task.
    try await session.downloadTask("it", to: folder.url("it")).resume()
    #expect(try await nextEnd(session).result.get().status == .ok)
    #expect(server.connectionCount == 1)
  }

  @Test func `a request that a redirect has led to a dead host is not sent again`() async throws {
    let dead = try LoopbackSocket.listen()
    close(dead.0)
    let count = Lock(0)
    let redirecting = try ScriptedServer { connection, _ in
      while let head = connection.readHead() {
        _ = connection.read(head.contains("Content-Length: 5") ? 5 : 0)
        count.withLock { $0 += 1 }
        connection.write("HTTP/1.1 303 See Other\r\nLocation: http://127.0.0.1:\(dead.1)/\r\nContent-Length: 0\r\n\r\n")
      }
    }
    let session = try session()
    let task = try await session.uploadTask("\(redirecting.url)it", from: .data(Data("hello".utf8)))
    try task.resume()
    guard case .failure(let error) = try await nextEnd(session).result else { throw TestFailure("a response") }
    #expect(error.kind == .outcomeUnknown)
    #expect(count.withLock { $0 } == 1)
  }

  @Test func `an upload that may be repeated is sent again after a crash`() async throws {
    let session = try session()
    let task = try await session.uploadTask(
      "it", from: .data(Data("hello".utf8)), options: .with { $0.allowsRepetition = true })
    try task.resume()
    #expect(try await nextEnd(session).result.get().status == .ok)
  }

  @Test(arguments: [true, false])
  func `a file that was whole gets its name, whether or not the worker had come to that`(_ hasName: Bool) async throws {
    let session = try session()
    let task = try await session.downloadTask("it", to: folder.url("it"))
    let record = try #require(try spool.record(task.id))
    try folder.write("whole", to: hasName ? "it" : URL(filePath: record.draft).lastPathComponent)
    try spool.change(task.id) { record in
      record.phase = .placing
      record.resume()
      record.end = .init(HTTPResponse(status: .ok), at: 0)
    }
    try session.startWorker()
    #expect(try await nextEnd(session).result.get().status == .ok)
    #expect(folder.text(of: "it") == "whole")
    #expect(try folder.names == ["it"])
    #expect(server.connectionCount == 0)
  }

  @Test func `a hundred tasks that fail at once are all told`() async throws {
    let session = try session()
    var tasks: [BackgroundTask] = []
    for _ in 0..<100 { tasks.append(try await session.downloadTask("it", to: folder.url("it"))) }
    try folder.write("mine", to: "it")
    for task in tasks { try task.resume() }
    var ids: Set<String> = []
    for await end in session.finishedEvents {
      #expect(throws: HTTPError.self) { try end.result.get() }
      #expect(ids.insert(end.id).inserted, "it is told once")
      try await end.acknowledge()
      if ids.count == 100 { break }
    }
    #expect(server.connectionCount == 0)
  }

  // MARK: What is stored

  @Test func `what cannot be stored is refused when the task is made`() async throws {
    struct Interceptor: RequestInterceptor {}
    func refused(_ change: (inout HTTPTaskOptions) -> Void) async throws {
      let options = HTTPTaskOptions.with(change)
      let error = await refusal { try await session().downloadTask("it", to: folder.url("it"), options: options) }
      #expect(error?.kind == .badConfiguration && error?.message.contains("cannot be stored") == true)
    }
    try await refused { $0.onRedirect = { $0.next } }
    try await refused { $0.onChallenge = { _ in nil } }
    try await refused { $0.interceptors = [Interceptor()] }
    try await refused { $0.onCaching = { _, response in response } }
    try await refused { $0.totalTimeout = .seconds(1) }
    func sessionRefused(_ change: (inout HTTPSessionConfiguration) -> Void) {
      var configuration = HTTPSessionConfiguration()
      change(&configuration)
      #expect(throws: HTTPError.self) { try session(configuration) }
    }
    sessionRefused { $0.interceptors = [Interceptor()] }
    sessionRefused { $0.transport = ScriptedTransport { _, _ in HTTPTransportAnswer() } }
    sessionRefused { $0.proxy = .direct }
    sessionRefused { $0.hostPolicies = ["a": .system] }
    sessionRefused { $0.unixSocketPath = "/socket" }
    #expect(throws: HTTPError.self) {
      try session(policy: SecurityPolicy(.none, allowsInvalidCertificates: true, validatesDomainName: false))
    }
  }

  @Test(arguments: ["Authorization", "Proxy-Authorization", "Cookie"])
  func `a secret is refused unless the session may store it`(_ name: String) async throws {
    let call = HTTPCall(.get, "it", headerFields: [HTTPField.Name(name)!: "secret"])
    let error = await refusal { try await session().downloadTask(call, to: folder.url("it")) }
    #expect(error?.message.contains("credentialCommand") == true)
    let task = try await session(storesSecrets: true).downloadTask(call, to: folder.url("it"))
    var facts = stat()
    #expect(unsafe stat(try spool.path(task.id, "json"), &facts) == 0 && facts.st_mode & 0o777 == 0o600)
    #expect(unsafe stat(try spool.folder, &facts) == 0 && facts.st_mode & 0o777 == 0o700)
    try task.cancel()
  }

  @Test func `a download arrives where a link leads to, on another file system too`() async throws {
    // What is in memory is never on the disk of the temporary folder.
    let other = "/dev/shm/netwatch-\(UInt32.random(in: 0 ... .max))"
    defer { try? FileManager.default.removeItem(atPath: other) }
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
    try Data("old".utf8).write(to: URL(filePath: "\(other)/it"))
    try FileManager.default.createSymbolicLink(atPath: folder.url("link").path, withDestinationPath: "\(other)/it")
    let session = try session()
    let task = try await session.downloadTask("it", to: folder.url("link"), replacesExisting: true)
    try task.resume()
    let end = try await nextEnd(session)
    #expect(try end.result.get().status == .ok)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.url("link").path) == "\(other)/it")
    #expect(try JSONDecoder().decode(Echo.self, from: Data(contentsOf: URL(filePath: "\(other)/it"))).path == "/it")
    #expect(try FileManager.default.contentsOfDirectory(atPath: other) == ["it"])
  }

  @Test(
    arguments: [
      ([:], true), (["AC/online": "1", "BAT0/type": "Battery"], true),
      (["AC/online": "0", "BAT0/type": "Battery"], false), (["BAT0/type": "Battery"], false),
      (["mouse/type": "Battery", "mouse/scope": "Device"], true), (["AC/online": "0", "AC/type": "Mains"], true),
      (["usb/online": "1", "usb/type": "USB", "BAT0/type": "Battery", "BAT0/scope": "System"], true),
    ] as [([String: String], Bool)])
  func `a machine is on power if a supply is connected, or it has no battery`(
    _ supplies: [String: String], _ expected: Bool
  ) throws {
    for (file, text) in supplies { try folder.write("\(text)\n", to: file) }
    #expect(PowerSupply.isOnPower(folder.path) == expected)
    #expect(PowerSupply.isOnPower("\(folder.path)/none"))
  }

  @Test(arguments: ["../../etc", "a/b", ".", "..", "ü", "%41", "a b"])
  func `an identifier is never a path`(_ identifier: String) throws {
    let spool = try TransferSpool(identifier)
    let root = try TransferSpool.root()
    #expect(URL(filePath: spool.folder).deletingLastPathComponent().path == root)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: root).contains(URL(filePath: spool.folder).lastPathComponent))
    #expect(try TransferSpool.all().spools.contains(spool))
    try FileManager.default.removeItem(atPath: spool.folder)
  }

  @Test func `an identifier that is no name is refused`() {
    for identifier in ["", String(repeating: "x", count: 201), String(repeating: "ü", count: 40)] {
      #expect(throws: HTTPError.self) { try TransferSpool(identifier) }
    }
  }
}
