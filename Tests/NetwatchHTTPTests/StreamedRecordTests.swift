import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of the lines and values of a body, which are read while the body arrives.
@Suite(.timeLimit(.minutes(5))) struct StreamedRecordTests {
  private let session: HTTPSessionManager

  init() throws { session = try HTTPSessionManager() }

  private static func records(
    _ parts: [Data], maximumBytes: Int = 1_000, readsSequences: Bool = false
  ) throws(HTTPError) -> [String] {
    var splitter = RecordSplitter(maximumBytes: maximumBytes, readsSequences: readsSequences)
    var records: [String] = []
    for part in parts {
      splitter.append(part)
      while let record = try splitter.next() { records.append(String(decoding: record, as: UTF8.self)) }
    }
    if let last = splitter.last() { records.append(String(decoding: last, as: UTF8.self)) }
    return records
  }

  private static func parts(_ text: String, of size: Int) -> [Data] {
    let bytes = Data(text.utf8)
    return stride(from: 0, to: bytes.count, by: size).map { bytes[$0...].prefix(size) }
  }

  @Test(arguments: [
    ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\r\nb\n\n\r\nc\r", ["a", "b", "", "", "c"]), ("\n", [""]),
    ("a\rb\n", ["a\rb"]), ("zwölf\n😀 \n", ["zwölf", "😀 "]), ("\u{feff}a\n\u{feff}b", ["a", "\u{feff}b"]),
    ("\u{1e}a\n", ["\u{1e}a"]),
  ])
  func `a line ends with LF or CRLF, however it comes`(_ text: String, _ lines: [String]) throws {
    for size in 1...4 { #expect(try Self.records(Self.parts(text, of: size)) == lines) }
    #expect(try Self.records(Self.parts(text, of: 1_000)) == lines)
  }

  @Test func `a sequence has its own separator`() throws {
    let text = "\u{1e}{\"a\":\n1}\r\n\u{1e}\u{1e}2\n"
    for size in [1, 2, 100] {
      #expect(try Self.records(Self.parts(text, of: size), readsSequences: true) == ["{\"a\":\n1}\r\n", "", "2\n"])
    }
  }

  @Test(arguments: [1, 3, 100]) func `a line that is too long is an error, whether its end has come or not`(_ size: Int)
  {
    for text in ["12345", "123456\n", "ok\n123456"] {
      do throws(HTTPError) {
        let lines = try Self.records(Self.parts(text, of: size), maximumBytes: 5)
        #expect(text == "12345" && lines == ["12345"])
      } catch {
        #expect(text != "12345" && error.kind == .responseTooLarge && error.message.contains("more than 5 bytes"))
      }
    }
  }

  @Test func `any text in any parts has the same lines`() throws {
    var random = SplitMix(seed: 8)
    let pieces = ["\n", "\r", "\r\n", "a", "ü", "😀", "\u{1e}", "word and word"]
    for _ in 0..<FuzzRounds.count(default: 2_000) {
      let text = (0..<Int.random(in: 0...40, using: &random)).map { _ in pieces[Int.random(in: 0..<8, using: &random)] }
        .joined()
      var parts: [Data] = []
      var rest = Data(text.utf8)
      while !rest.isEmpty {
        let count = Int.random(in: 1...rest.count, using: &random)
        parts.append(rest.prefix(count))
        rest = Data(rest.dropFirst(count))
      }
      var expected = text.utf8.split(separator: 10, omittingEmptySubsequences: false).map { line in
        String(decoding: line.last == 13 ? line.dropLast() : line, as: UTF8.self)
      }
      if text.isEmpty || text.utf8.last == 10 { expected.removeLast() }
      #expect(try Self.records(parts) == expected)
    }
  }

  // MARK: From a server

  private func server(_ chunks: [String], ends: Bool = true) throws -> ScriptedServer {
    try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      for chunk in chunks { connection.write("\(String(chunk.utf8.count, radix: 16))\r\n\(chunk)\r\n") }
      if ends { connection.write("0\r\n\r\n") }
      if ends || chunks.last == "wait" { connection.waitForEnd() }
    }
  }

  private func stream(_ server: ScriptedServer) async throws -> HTTPStream {
    try await session.stream(HTTPRequest(.get, to: server.url))
  }

  @Test func `a line is there as soon as its end has come`() async throws {
    let goesOn = DispatchSemaphore(value: 0)
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\n\r\none\r\ntw")
      goesOn.wait()
      connection.write("o\nthree")
    }
    defer { server.stop() }
    var lines = try await stream(server).lines.makeAsyncIterator()
    #expect(try await lines.next() == "one")
    goesOn.signal()
    #expect(try await lines.next() == "two")
    #expect(try await lines.next() == "three")
    #expect(try await lines.next() == nil)
    #expect(try await lines.next() == nil)
  }

  @Test func `a line that is too long ends the request, and its reader gets nothing more`() async throws {
    let isOver = Box(false)
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\n\r\nok\n")
      while connection.write(String(repeating: "x", count: 1_000)) {}
      isOver.change { $0 = true }
    }
    defer { server.stop() }
    do {
      var lines = try await stream(server).lines(maximumBytes: 10_000).makeAsyncIterator()
      #expect(try await lines.next() == "ok")
      let error = await #expect(throws: HTTPError.self) { try await lines.next() }
      #expect(error?.kind == .responseTooLarge)
      #expect(try await lines.next() == nil)
    }
    try await eventually(isOver.now) { $0 }
  }

  @Test func `a body that is cut off fails behind its whole lines`() async throws {
    let server = try server(["one\ntw"], ends: false)
    defer { server.stop() }
    var seen: [String] = []
    let error = await #expect(throws: HTTPError.self) {
      for try await line in try await stream(server).lines { seen.append(line) }
    }
    #expect(error?.kind == .connectionLost && seen == ["one"])
  }

  @Test func `a task that is cancelled ends its lines and its values`() async throws {
    for asValues in [false, true] {
      let server = try server(["1\n", "wait"], ends: false)
      defer { server.stop() }
      let stream = try await stream(server)
      let hasBegun = Box(false)
      let task = Task {
        if asValues {
          for try await _ in stream.values(as: Int.self) { hasBegun.change { $0 = true } }
        } else {
          for try await _ in stream.lines { hasBegun.change { $0 = true } }
        }
      }
      try await eventually(hasBegun.now) { $0 }
      task.cancel()
      let error = await #expect(throws: HTTPError.self) { try await task.value }
      #expect(error?.kind == .cancelled)
    }
  }

  struct Point: Codable, Sendable, Equatable { var x: Int }

  @Test func `values are those of the lines, without the empty ones`() async throws {
    let server = try server(["{\"x\":1}\r\n{\"x\"", ":2}\n\n  \n{\"x\":3}"])
    defer { server.stop() }
    var points: [Point] = []
    for try await point in try await stream(server).values(as: Point.self) { points.append(point) }
    #expect(points == [Point(x: 1), Point(x: 2), Point(x: 3)])
  }

  @Test func `values are those of a sequence, over several lines too`() async throws {
    let server = try server(["\u{1e}{\"x\":\n1}\n\u{1e}", "\u{1e}{\"x\":2}"])
    defer { server.stop() }
    var points: [Point] = []
    for try await point in try await stream(server).values(as: Point.self) { points.append(point) }
    #expect(points == [Point(x: 1), Point(x: 2)])
  }

  @Test func `a number that may be cut off is an error in a sequence`() async throws {
    let server = try server(["\u{1e}12\n\u{1e}34"])
    defer { server.stop() }
    var numbers: [Int] = []
    let error = await #expect(throws: HTTPError.self) {
      for try await number in try await stream(server).values(as: Int.self) { numbers.append(number) }
    }
    #expect(numbers == [12] && error?.kind == .cannotDecodeContentData && error?.message == "the text is cut off")
  }

  @Test func `a value that does not fit is an error with its text, and the next one can be had`() async throws {
    let server = try server(["{\"x\":1}\n{\"y\":2}\n{\"x\":3}\n"])
    defer { server.stop() }
    var values = try await stream(server).values(as: Point.self).makeAsyncIterator()
    #expect(try await values.next() == Point(x: 1))
    let error = await #expect(throws: HTTPError.self) { try await values.next() }
    #expect(error?.kind == .cannotDecodeContentData && error?.body == Data("{\"y\":2}".utf8))
    #expect(error?.underlying is DecodingError)
    #expect(try await values.next() == Point(x: 3))
  }

  @Test func `what node writes is read: 10,000 values over HTTP/2`() async throws {
    let server = try NodeServer(
      """
      server.on('stream', stream => {
        stream.respond({ ':status': 200, 'content-type': 'application/x-ndjson' });
        for (let number = 0; number < 10000; number++) stream.write(JSON.stringify({ x: number, text: 'ü'.repeat(number % 50) }) + '\\n');
        stream.end();
      });
      """)
    var sum = 0
    let session = try server.session()
    let stream = try await session.stream(HTTPRequest(.get, to: server.url))
    for try await point in stream.values(as: Point.self) { sum += point.x }
    #expect(sum == 49_995_000)
  }
}
