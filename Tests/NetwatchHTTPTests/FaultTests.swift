import Foundation
import Glibc
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of servers that do what they should not do.
@Suite(.timeLimit(.minutes(5))) struct FaultTests {
  private let session: HTTPSessionManager

  private let clock = ManualClock()

  init() throws { session = try HTTPSessionManager(threads: HTTPThreads(by: clock)) }

  private func fail(
    _ options: HTTPTaskOptions = .init(), _ script: @escaping @Sendable (ServerConnection) -> Void
  ) async throws -> HTTPError? {
    let server = try ScriptedServer { connection, _ in
      guard connection.readHead() != nil else { return }
      script(connection)
    }
    defer { server.stop() }
    return await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.get, to: server.url), options: options)
    }
  }

  @Test func `a server that hangs up without a word`() async throws {
    for (reason, error) in [
      (HTTPError.Reason.closed, try await fail { $0.close() }), (.reset, try await fail { $0.reset() }),
    ] {
      #expect(error?.kind == .connectionLost)
      #expect(error?.reason == reason)
      #expect(error?.domain == .libcurl)
    }
  }

  @Test func `an error names its request once, and no secrets`() async throws {
    let server = try ScriptedServer { connection, number in
      guard connection.readHead() != nil, number == 0 else { return connection.close() }
      let close = "Content-Length: 0\r\nConnection: close\r\n\r\n"
      connection.write("HTTP/1.1 302 Found\r\nLocation: /other?key=hidden\r\n\(close)")
      connection.close()
    }
    defer { server.stop() }
    let url = try #require(URL(string: "http://me:word@127.0.0.1:\(server.port)/first?key=hidden#part"))
    let error = try #require(
      await #expect(throws: HTTPError.self) { try await session.data(for: HTTPRequest(.get, to: url)) })
    #expect(error.request?.path == "/other?key=hidden#part")
    #expect(
      "\(error)"
        == "GET http://127.0.0.1:\(server.port)/other?…: the connection was lost (request: Empty reply from server)")
    #expect(error.localizedDescription == "The connection was lost: Empty reply from server.")
    #expect(error.kind.name == "connectionLost" && "\(error.kind)" == "the connection was lost")
  }

  @Test func `what lies beneath an error is said once`() {
    let cause = HTTPError(.cannotConnect, "request", message: "refused")
    #expect(
      "\(HTTPError(.pathLost, "request", message: "no path", underlying: cause))"
        == "the path to the server was lost (request: no path) (cannot connect (request: refused))")
    #expect(
      "\(HTTPError(.fileFailed, "read", message: "\(cause)", underlying: cause))"
        == "a file failed (read: cannot connect (request: refused))")
    var outer = HTTPError(.pathLost, "request", underlying: cause)
    var inner = cause
    (inner.request, outer.request) = (try? HTTPRequest(.get, to: URL(filePath: "/")), nil)
    #expect("\(outer)" == "the path to the server was lost (request) (cannot connect (request: refused))")
  }

  /// Tests a server that answers once, and closes the connection when it is used again.
  @Test(arguments: [true, false])
  func `a kept connection that is closed under a body that can be sent once is lost`(isTaken: Bool) async throws {
    let isAskedAgain = Box(false)
    let server = try ScriptedServer { connection, number in
      guard connection.readHead() != nil else { return }
      if number > 0 {
        isAskedAgain.change { $0 = true }
        _ = connection.readUntil(Data("body".utf8))
        connection.write("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
        return connection.waitForEnd()
      }
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      guard connection.readHead() != nil else { return }
      if isTaken { _ = connection.readUntil(Data("body".utf8)) }
      connection.reset()
    }
    defer { server.stop() }
    _ = try await session.data(for: HTTPRequest(.get, to: server.url))
    let (parts, part) = AsyncStream.makeStream(of: Data.self)
    if isTaken {
      part.yield(Data("body".utf8))
      part.finish()
    }
    let request = try HTTPRequest(.post, to: server.url)
    let result = Task { [session] in try await session.data(for: request, body: .sequence(parts, length: 4)) }
    guard isTaken else {
      // Nothing of the body was taken, so the request is sent over another connection.
      try await eventually(isAskedAgain.now) { $0 }
      part.yield(Data("body".utf8))
      part.finish()
      #expect(try await result.value.response.status == .created)
      return
    }
    let error = await #expect(throws: HTTPError.self) { try await result.value }
    #expect(error?.kind == .connectionLost)
  }

  @Test func `half a head`() async throws {
    #expect(try await fail { $0.write("HTTP/1.1 200 OK\r\nContent-Le") }?.kind == .connectionLost)
  }

  @Test func `something that is not HTTP`() async throws {
    let error = try await fail {
      $0.write("SSH-2.0-OpenSSH_9.2\r\n\r\n")
      $0.waitForEnd()
    }
    #expect(error?.kind == .connectionLost)
    #expect(error?.reason == .notHTTP)
  }

  @Test(arguments: ["5\r\nhell", "zz\r\nhello", "5\r\nhelloX\r\n"])
  func `chunks that are none, and chunks that end early, have other reasons`(_ chunks: String) async throws {
    let error = try await fail { connection in
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)")
      connection.close()
    }
    #expect(error?.kind == .connectionLost)
    #expect(error?.reason == (chunks.hasSuffix("hell") ? .closed : .badFraming))
  }

  @Test(arguments: [nil, 2_000, 300_000]) func `a head without end has a limit`(_ limit: Int?) async throws {
    var options = HTTPTaskOptions()
    if let limit { options.maximumHeadBytes = limit }
    let error = try await fail(options) { connection in
      connection.write("HTTP/1.1 200 OK\r\n")
      while connection.write("X-More: \(String(repeating: "x", count: 1_000))\r\n") {}
    }
    #expect(error?.kind == .responseTooLarge)
    #expect(error?.reason == .headTooLong)
    // Since version 8.3.0, libcurl has its own limit of 300 KiB.
    let isOwn = error?.message == "its head is longer than the \(limit ?? 262_144) bytes of maximumHeadBytes"
    #expect(isOwn || limit == 300_000 && CurlLibrary.version >= 0x08_0300, "\(error?.message ?? "")")
  }

  @Test func `a head up to its limit is taken`() async throws {
    let head = "HTTP/1.1 200 OK\r\nX-More: \(String(repeating: "x", count: 5_000))\r\nContent-Length: 2\r\n\r\n"
    let server = try ScriptedServer { connection, _ in
      while connection.readHead() != nil { connection.write(head + "ok") }
    }
    defer { server.stop() }
    let request = try HTTPRequest(.get, to: server.url)
    func get(_ limit: Int) async throws(HTTPError) -> Data {
      try await session.data(for: request, options: .with { $0.maximumHeadBytes = limit }).value
    }
    #expect(try await get(head.utf8.count) == Data("ok".utf8))
    await #expect(throws: HTTPError.self) { try await get(head.utf8.count - 1) }
  }

  @Test func `a process without descriptors is told so`() async throws {
    // The server answers when 40 connections wait. A process with 64 descriptors can certainly open this many.
    let (waiting, areThere) = (Box(0), Gate())
    let server = try ScriptedServer { connection, _ in
      while connection.readHead() != nil {
        waiting.change { $0 += 1 }
        if waiting.now >= 40 { areThere.open() }
        areThere.pass()
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
      }
    }
    defer { server.stop() }
    let command = [Programs.httpProbe, "many", server.url.absoluteString, "150"]
    let lines = try Programs.run(["sh", "-c", "ulimit -n 64; exec \"$@\"", "sh"] + command).split(separator: "\n")
    #expect(lines.count == 150)
    let failed = lines.filter { $0 != "got 200" }
    #expect(!failed.isEmpty)
    let reason = "cannotConnect noDescriptors \(EMFILE) system this process has no file descriptor left"
    for line in failed { #expect(line.hasPrefix(reason), "\(line)") }
  }

  @Test func `a body without end, where there is a limit`() async throws {
    var options = HTTPTaskOptions()
    options.maximumResponseBytes = 1_000_000
    let error = try await fail(options) { connection in
      connection.write("HTTP/1.1 200 OK\r\n\r\n")
      while connection.write(Data(repeating: 0, count: 10_000)) {}
    }
    #expect(error?.kind == .responseTooLarge)
    #expect(error?.response?.status == .ok)
  }

  @Test func `a compressed body that becomes too long`() async throws {
    var options = HTTPTaskOptions()
    options.maximumResponseBytes = 1_000_000
    let folder = try TemporaryFolder()
    try folder.write(Data(repeating: 0, count: 10_000_000), to: "bomb")
    try Programs.run(["gzip", "bomb"], in: folder.url)
    let bomb = try Data(contentsOf: folder.url("bomb.gz"))
    let error = try await fail(options) { connection in
      connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bomb.count)\r\n\r\n")
      connection.write(bomb)
      connection.waitForEnd()
    }
    #expect(error?.kind == .responseTooLarge)
  }

  @Test func `a server that says nothing for too long`() async throws {
    var options = HTTPTaskOptions()
    options.timeout = .seconds(30)
    let error = try await fail(options) { [clock] connection in
      clock.advance(by: .seconds(30))
      connection.waitForEnd()
    }
    #expect(error?.kind == .timedOut)
  }

  @Test func `a server that drips takes too long only in total`() async throws {
    var options = HTTPTaskOptions()
    options.timeout = .seconds(30)
    options.totalTimeout = .seconds(300)
    let drips = Box(0)
    // The server sends the next byte only after the session has reported the one before.
    let heard = DispatchSemaphore(value: 0)
    (options.progressInterval, options.executor) = (.zero, .immediate)
    options.onProgress = { _ in heard.signal() }
    let error = try await fail(options) { [clock] connection in
      connection.write("HTTP/1.1 200 OK\r\n\r\n")
      while connection.write(".") {
        heard.wait()
        drips.change { $0 += 1 }
        clock.advance(by: .seconds(29))
      }
    }
    heard.signal()
    #expect(error?.kind == .timedOut)
    #expect(drips.now > 10)
  }

  @Test func `a body that waits for an answer to a challenge is refused if it is too long`() async throws {
    var options = HTTPTaskOptions()
    options.maximumResponseBytes = 10
    options.onChallenge = { _ in nil }
    let error = try await fail(options) { connection in
      connection.write("HTTP/1.1 401 Unauthorized\r\nContent-Length: 100\r\n\r\n\(String(repeating: "x", count: 100))")
      connection.waitForEnd()
    }
    #expect(error?.kind == .responseTooLarge)
  }

  @Test func `a suspended task has time, and has none any more when it goes on`() async throws {
    var options = HTTPTaskOptions()
    options.timeout = .seconds(2)
    let heads = Box(0)
    let server = try ScriptedServer { connection, _ in
      while connection.readHead() != nil { heads.change { $0 += 1 } }
    }
    defer { server.stop() }
    let kinds = Box<[HTTPError.Kind]>([])
    let task = session.dataTask(try HTTPRequest(.get, to: server.url), options: options) { result in
      if case .failure(let error) = result { kinds.change { $0.append(error.kind) } }
    }
    task.resume()
    try await eventually(heads.now) { $0 == 1 }
    task.suspend()
    try await eventually(task.state) { $0 == .suspended }
    await session.pass(.seconds(1_000), on: clock)
    #expect(kinds.now.isEmpty)
    task.resume()
    try await eventually(task.state) { $0 == .running }
    await session.pass(.seconds(2), on: clock)
    #expect(try await eventually(kinds.now) { !$0.isEmpty } == [.timedOut])
  }

  @Test func `a drip that is slow, but never too slow, arrives`() async throws {
    var options = HTTPTaskOptions()
    options.timeout = .seconds(5)
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n")
      for _ in 0..<20 {
        try? connection.waitUntilRead()
        connection.write(".")
      }
      connection.waitForEnd()
    }
    defer { server.stop() }
    let reply = try await session.data(for: HTTPRequest(.get, to: server.url), options: options)
    #expect(reply.value.count == 20)
  }

  @Test func `trailers, and heads before the head, are not the response`() async throws {
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 103 Early Hints\r\nX-Early: 1\r\n\r\n")
      connection.write("HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\nX-Real: 1\r\n\r\n")
      connection.write("2\r\nok\r\n0\r\nX-Trailer: 1\r\n\r\n")
      connection.waitForEnd()
    }
    defer { server.stop() }
    let reply = try await session.data(for: HTTPRequest(.get, to: server.url))
    #expect(reply.value == Data("ok".utf8))
    #expect(reply.response.status.reasonPhrase == "Fine")
    #expect(reply.response.headerFields.map(\.name.rawName) == ["Transfer-Encoding", "X-Real"])
  }

  /// libcurl 7.88 appends such a line to a field of the previous answer, which it has already freed. AddressSanitizer
  /// detects that.
  @Test(arguments: ["", "HTTP/1.1 103 Early Hints\r\n\r\n"])
  func `a first field that begins with white space, after another answer`(_ start: String) async throws {
    let server = try ScriptedServer { connection, _ in
      while let head = connection.readHead() {
        let fold = head.hasPrefix("GET /folded") ? " folded: \(String(repeating: "x", count: 500))\r\n" : ""
        let start = fold.isEmpty ? "" : start
        connection.write("\(start)HTTP/1.1 200 OK\r\n\(fold)X-Filler: 1\r\nContent-Length: 2\r\n\r\nok")
      }
    }
    defer { server.stop() }
    for _ in 0..<20 {
      let reply = try await session.data(for: HTTPRequest(.get, to: server.url))
      #expect(reply.value == Data("ok".utf8))
      #expect(reply.response.headerFields.map(\.name.rawName) == ["X-Filler", "Content-Length"])
      let error = await #expect(throws: HTTPError.self) {
        try await session.data(for: HTTPRequest(.get, to: server.url.appending(path: "folded")))
      }
      #expect(error?.kind == .connectionLost)
      #expect(error?.message == "its first field begins with white space")
    }
  }

  @Test func `a head without fields, and folded fields behind the first`() async throws {
    let server = try ScriptedServer { connection, number in
      _ = connection.readHead()
      let fields = number % 2 == 0 ? "" : "X-Folded: a\r\n b\r\n"
      connection.write("HTTP/1.1 200 OK\r\n\(fields)\r\nok")
    }
    defer { server.stop() }
    for number in 0..<4 {
      let reply = try await session.data(for: HTTPRequest(.get, to: server.url))
      #expect(reply.value == Data("ok".utf8))
      #expect(reply.response.headerFields.map(\.value) == (number % 2 == 0 ? [] : ["a b"]))
    }
  }

  /// Before version 8.6.0, libcurl reports such a line as a lack of memory.
  @Test(arguments: ["HTTP/1.1 200 ", "HTTP/1.1 200 OK\r\nX-Long: ", "HTTP/1.1 200 OK\r\nA: b\r\nX-Long: "])
  func `a line of the head that is too long is named as the reason`(_ start: String) async throws {
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write(start + String(repeating: "x", count: 150_000) + "\r\n\r\n")
      connection.waitForEnd()
    }
    defer { server.stop() }
    let session = try HTTPSessionManager()
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.get, to: server.url))
    }
    #expect(error?.kind == .responseTooLarge)
    #expect(error?.reason == .headTooLong)
    #expect(error?.message.contains("its head has a line of more than 100 KiB") == true, "\(error?.message ?? "")")
  }

  /// libcurl delivers the first field as a part of the body, in pieces of 16 KiB.
  @Test(arguments: [16_386, 17_408, 33_792, 100_000])
  func `a first field may be long`(_ size: Int) async throws {
    let server = try ScriptedServer { connection, number in
      while connection.readHead() != nil {
        let field = "X-Long: "
        let value = String(repeating: "a", count: size - field.utf8.count - 2)
        let status = number % 2 == 0 ? "200 OK" : "404 No"
        connection.write("HTTP/1.1 \(status)\r\n\(field)\(value)\r\nContent-Length: 2\r\n\r\nok")
      }
    }
    defer { server.stop() }
    let session = try HTTPSessionManager()
    for _ in 0..<3 {
      let reply = try await session.data(for: HTTPRequest(.get, to: server.url))
      #expect(reply.value == Data("ok".utf8))
      #expect(reply.response.headerFields.map(\.value.utf8.count) == [size - 10, 1])
    }
  }

  /// 80,000 fields fit into a head of 256 KiB, but they are more than `HTTPFields` can hold.
  @Test(arguments: [true, false]) func `a response with 80,000 fields is an error`(_ areTrailers: Bool) async throws {
    let fields = String(repeating: "a:\n", count: 80_000)
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write(
        areTrailers
          ? "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\(fields)\r\n"
          : "HTTP/1.1 200 OK\r\nX: y\r\n\(fields)\r\n")
      connection.waitForEnd()
    }
    defer { server.stop() }
    let session = try HTTPSessionManager()
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.get, to: server.url))
    }
    #expect(error?.reason == .headTooLong)
    #expect(error?.message.contains("more than 2000") == true, "\(error?.message ?? "")")
  }
}
