import Foundation
import Glibc
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP
@testable import NetwatchHTTPFoundation

@Suite(.timeLimit(.minutes(5))) struct MultipartTests {
  private func form() throws -> MultipartFormData { try MultipartFormData(boundary: "XX") }

  @Test func `a form is what a server expects, byte for byte`() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("pixels", to: "me.png")
    var form = try form()
    form.append(Data("plain".utf8), name: "note")
    try form.append(file: file, name: "avatar")
    form.append(Data("{}".utf8), name: "meta", fileName: "m.json", contentType: "application/json")
    try form.append(
      .stream(length: 6) { InputStream(data: Data("stream and more".utf8)) }, name: "s", fileName: "s.bin",
      contentType: "application/octet-stream")
    try form.append(.data(Data([0, 13, 10])), headerFields: [.contentType: "x/y", .init("X-Own")!: "1"])
    let parameters: StructuredValue = [
      "z": 1, "a": ["k": "ä", "b": [true, nil]], "raw": .data(Data("\r\n--".utf8)),
    ]
    let body = try form.body(parameters: parameters)
    let expected = [
      "--XX", "Content-Disposition: form-data; name=\"a[b][]\"", "", "1",
      "--XX", "Content-Disposition: form-data; name=\"a[b][]\"", "", "",
      "--XX", "Content-Disposition: form-data; name=\"a[k]\"", "", "ä",
      "--XX", "Content-Disposition: form-data; name=\"raw\"", "", "\r\n--",
      "--XX", "Content-Disposition: form-data; name=\"z\"", "", "1",
      "--XX", "Content-Disposition: form-data; name=\"note\"", "", "plain",
      "--XX", "Content-Disposition: form-data; name=\"avatar\"; filename=\"me.png\"", "Content-Type: image/png", "",
      "pixels",
      "--XX", "Content-Disposition: form-data; name=\"meta\"; filename=\"m.json\"", "Content-Type: application/json",
      "",
      "{}",
      "--XX", "Content-Disposition: form-data; name=\"s\"; filename=\"s.bin\"",
      "Content-Type: application/octet-stream", "", "stream",
      "--XX", "Content-Type: x/y", "X-Own: 1", "", "\0\r\n",
      "--XX--", "",
    ].joined(separator: "\r\n")
    #expect(try await body.text() == expected)
    #expect(body.length == Int64(expected.utf8.count))
    #expect(body.contentType == "multipart/form-data; boundary=XX")
  }

  @Test func `a form without parts is still one`() async throws {
    #expect(try await form().body().text() == "--XX--\r\n")
  }

  @Test func `two forms have different boundaries, which RFC 2046 allows`() throws {
    let (first, second) = (MultipartFormData().boundary, MultipartFormData().boundary)
    #expect(first != second)
    #expect(try MultipartFormData(boundary: first).boundary == first)
  }

  @Test(arguments: ["", "a b", "a\"", "a\r\nb", "ä", String(repeating: "x", count: 71)])
  func `a boundary that would break the form is refused`(_ boundary: String) {
    #expect(throws: HTTPError.self) { try MultipartFormData(boundary: boundary) }
  }

  @Test func `a boundary that is more than a word stands in quotes`() throws {
    #expect(try MultipartFormData(boundary: "a:b").body().contentType == "multipart/form-data; boundary=\"a:b\"")
  }

  @Test(arguments: [
    ("a\"; filename=\"evil", "a%22; filename=%22evil"), ("a\r\nX-Evil: 1\r\n\r\nb", "a%0D%0AX-Evil: 1%0D%0A%0D%0Ab"),
    ("\0\t\u{7f}", "%00%09%7F"), ("naïve 日本 😀", "naïve 日本 😀"), ("back\\slash%22", "back\\slash%22"),
  ])
  func `a name cannot begin a header of its own`(_ name: String, _ escaped: String) async throws {
    var form = try form()
    form.append(Data(), name: name, fileName: name, contentType: "a/b")
    #expect(
      try await form.body().text() == """
        --XX\r\nContent-Disposition: form-data; name="\(escaped)"; filename="\(escaped)"\r
        Content-Type: a/b\r\n\r\n\r\n--XX--\r\n
        """)
  }

  @Test(arguments: [
    ("a.JPG", "image/jpeg"), ("a.tar.gz", "application/gzip"), ("README", "application/octet-stream"),
    ("a.", "application/octet-stream"), (".png", "application/octet-stream"), ("x.unknown", "application/octet-stream"),
  ])
  func `a file's type is told by its name`(_ name: String, _ type: String) async throws {
    let folder = try TemporaryFolder()
    var form = try form()
    try form.append(file: try folder.write(Data(), to: name), name: "f")
    #expect(try await form.body().text().contains("Content-Type: \(type)\r\n"))
  }

  // MARK: Files and streams that fail

  @Test func `a file that cannot be sent is refused when it is added`() throws {
    let folder = try TemporaryFolder()
    var form = try form()
    let pipe = folder.url("pipe")
    #expect(unsafe mkfifo(pipe.path, 0o600) == 0)
    for url in [folder.url("missing"), folder.url, pipe, URL(string: "http://h/")!] {
      let error = #expect(throws: HTTPError.self) { try form.append(file: url, name: "f") }
      #expect(error?.kind == .fileFailed)
    }
    if geteuid() != 0 {
      let secret = try folder.write(Data([1]), to: "secret")
      #expect(unsafe chmod(secret.path, 0) == 0)
      #expect(throws: HTTPError.self) { try form.append(file: secret, name: "f") }
    }
    #expect(try form.body().length == 8)
  }

  @Test func `a file that has become shorter fails the request, instead of an endless wait`() async throws {
    let folder = try TemporaryFolder()
    var form = try form()
    let file = try folder.write(Data(repeating: 1, count: 100), to: "f")
    try form.append(file: file, name: "f")
    let body = try form.body()
    try Data([1, 2]).write(to: file)
    await #expect(throws: HTTPError.self) { try await body.bytes() }
    try FileManager.default.removeItem(at: file)
    let error = await #expect(throws: HTTPError.self) { try await body.bytes() }
    #expect(error?.kind == .fileFailed && error?.code == ENOENT)
  }

  @Test func `a file that has grown is sent as it was when it was added`() async throws {
    let folder = try TemporaryFolder()
    var form = try form()
    let file = try folder.write("short", to: "f.txt")
    try form.append(file: file, name: "f")
    let body = try form.body()
    try Data("short and long".utf8).write(to: file)
    #expect(try await body.text().hasSuffix("\r\n\r\nshort\r\n--XX--\r\n"))
  }

  @Test func `a stream that ends too early, fails, or is none fails the request`() async throws {
    let short = { @Sendable in InputStream(data: Data([1, 2])) as InputStream? }
    let broken = { @Sendable in InputStream(url: URL(filePath: "/nonexistent")) }
    for open in [short, broken, { @Sendable in nil }] {
      var form = try form()
      try form.append(.stream(length: 3, open: open), name: "s")
      let body = try form.body()
      await #expect(throws: HTTPError.self) { try await body.bytes() }
    }
  }

  @Test func `a body whose length is not known cannot be a part`() throws {
    var form = try form()
    for length in [nil, -1] as [Int64?] {
      let body = HTTPBody.stream(length: length) { nil }
      #expect(throws: HTTPError.self) { try form.append(body, name: "s") }
      #expect(throws: HTTPError.self) { try form.append(body, headerFields: [:]) }
    }
    try form.append(.stream(length: .max) { nil }, name: "s")
    #expect(throws: HTTPError.self) { try form.body() }
  }

  @Test func `a stream of unknown length is a body by itself`() async throws {
    let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 * 7) }
    let body = HTTPBody.stream(length: nil, contentType: "x/y") { InputStream(data: Data(bytes)) }
    #expect(body.length == nil && body.contentType == "x/y")
    #expect(try await body.bytes() == bytes)
  }

  @Test func `a stream that lets one wait does not hold the transfers up`() async throws {
    var ends: [CInt] = [0, 0]
    #expect(unsafe pipe(&ends) == 0)
    let (reading, writing) = (ends[0], ends[1])
    defer { _ = close(reading) }
    var form = try form()
    try form.append(.stream(length: 5) { InputStream(fileAtPath: "/proc/self/fd/\(reading)") }, name: "s")
    let reader = try BodyReader(form.body())
    let head = "--XX\r\nContent-Disposition: form-data; name=\"s\"\r\n\r\n"
    #expect(String(decoding: try await reader.next(1_000), as: UTF8.self) == head)
    #expect(reader.isPaused(1_000))
    #expect(unsafe write(writing, "hello", 5) == 5)
    _ = close(writing)
    #expect(String(decoding: try await reader.rest(), as: UTF8.self) == "hello\r\n--XX--\r\n")
  }

  // MARK: Reading a form

  @Test func `a body that has to be sent once more is the same again`() async throws {
    let folder = try TemporaryFolder()
    var form = try form()
    form.append(Data("data".utf8), name: "d")
    try form.append(file: try folder.write(Data(repeating: 7, count: 5_000), to: "f"), name: "f")
    try form.append(.stream(length: 4) { InputStream(data: Data("abcd".utf8)) }, name: "s")
    let body = try form.body(parameters: ["a": 1])
    let whole = try await body.bytes()
    for count in [0, 1, 100, 3_000, whole.count] {
      let reader = try BodyReader(body)
      if count > 0 { _ = try await reader.next(count) }
      #expect(reader.rewind())
      #expect(try await reader.rest() == whole)
    }
  }

  @Test(arguments: [200_000, nil])
  func `so is a stream, which is opened anew, and a throttled body`(_ length: Int64?) async throws {
    let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 11) }
    let stream = HTTPBody.stream(length: length) { InputStream(data: Data(bytes)) }
    for body in [stream, stream.throttled(packetSize: 80_000, delay: .milliseconds(1))] {
      for count in [0, 1, 70_000, 200_000] {
        let reader = try BodyReader(body)
        var sent = 0
        while sent < count { sent += try await reader.next(min(count - sent, 30_000)).count }
        #expect(reader.rewind())
        #expect(try await reader.rest({ 65_536 }) == bytes)
      }
    }
  }

  @Test(arguments: [UInt64(1), 2])
  func `whatever the parts and however they are read, every byte comes once`(_ seed: UInt64) async throws {
    var random = SplitMix(seed: seed)
    let folder = try TemporaryFolder()
    for round in 0..<FuzzRounds.count(default: 2_000) / 20 {
      var form = try form()
      var expected = ""
      for index in 0..<Int.random(in: 0...6, using: &random) {
        let size = random.oneIn(16) ? 150_000 : Int.random(in: 0...300, using: &random)
        let salt = Int.random(in: 0..<95, using: &random)
        let bytes = (0..<size).map { UInt8(0x20 + ($0 &* 7 &+ salt) % 95) }
        expected += "--XX\r\nContent-Disposition: form-data; name=\"\(index)\"\r\n\r\n"
        expected += String(decoding: bytes, as: UTF8.self) + "\r\n"
        let data = Data(bytes)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: form.append(data, name: "\(index)")
        case 1: try form.append(.file(try folder.write(data, to: "\(index)")), name: "\(index)")
        default: try form.append(.stream(length: Int64(size)) { InputStream(data: data) }, name: "\(index)")
        }
      }
      if random.oneIn(10) { form.throttle(packetSize: 50_000, delay: .microseconds(1)) }
      let body = try form.body()
      let most = [1, 7, 64, 1_000, 65_536][Int.random(in: 0..<5, using: &random)] + expected.utf8.count / 2_000
      let bytes = try await BodyReader(body).rest { Int.random(in: 1...most, using: &random) }
      guard String(decoding: bytes, as: UTF8.self) == expected + "--XX--\r\n", body.length == Int64(bytes.count) else {
        Issue.record("seed \(seed), round \(round)")
        return
      }
    }
  }

  @Test func `a throttled form is sent in packets, with a rest behind each`() async throws {
    let clock = ManualClock()
    let bytes = (0..<25).map { UInt8($0) }
    let body = HTTPBody.data(Data(bytes)).throttled(packetSize: 10, delay: .seconds(1), clock: clock)
    #expect(body.length == 25)
    let reader = try BodyReader(body)
    // One packet may be read into several buffers.
    #expect(try await reader.next(4) == Array(bytes[0..<4]))
    #expect(try await reader.next(100) == Array(bytes[4..<10]))
    #expect(reader.isPaused(100))
    clock.advance(by: .milliseconds(999))
    #expect(reader.isPaused(100))
    clock.advance(by: .milliseconds(1))
    #expect(try await reader.next(100) == Array(bytes[10..<20]))
    #expect(reader.isPaused(100))
    try await eventually(clock.sleeperCount) { $0 > 0 }
    clock.advance(by: .seconds(1))
    #expect(try await reader.next(100) == Array(bytes[20..<25]))
    #expect(try await reader.next(100) == [])
  }

  @Test func `a throttled form takes the time that it should, and wakes its transfer`() async throws {
    var form = try form()
    form.append(Data(repeating: 1, count: 1_000), name: "d")
    form.throttle(packetSize: 300, delay: .milliseconds(20))
    let body = try form.body()
    let reader = try BodyReader(body)
    let start = ContinuousClock.now
    #expect(try await reader.rest().count == Int(body.length ?? 0))
    #expect(start.duration(to: .now) >= .milliseconds(60))
    #expect(reader.pauses >= 3)
  }

  /// Sends 256 MiB, or 4 GiB if `NETWATCH_LARGE_FORMS` is set, because even reading 4 GiB of zeros takes long.
  @Test func `a file of 4 GiB is sent in a few MiB of memory`() async {
    await #expect(processExitsWith: .success) {
      let isWhole = ProcessInfo.processInfo.environment["NETWATCH_LARGE_FORMS"] != nil
      let size = (isWhole ? 4_096 : 256) * 1_024 * 1_024
      let server = try ScriptedServer { connection, _ in
        guard let head = connection.readHead(), head.contains("Content-Length: \(size + 120)\r\n") else { return }
        guard connection.skip(size + 120) else { return }
        connection.write("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
      }
      defer { server.stop() }
      let folder = try TemporaryFolder()
      var form = try MultipartFormData(boundary: "XX")
      try form.append(file: try folder.makeSparse("big.bin", size: UInt64(size)), name: "f")
      let session = try HTTPSessionManager()
      let request = try HTTPRequest(.post, to: server.url)
      let before = try PeakMemory.bytes()
      let reply = try await session.upload(try form.body(), with: request)
      let growth = try PeakMemory.bytes() - before
      precondition(reply.response.status == .created, "\(reply.response.status)")
      precondition(growth <= 32 * 1_024 * 1_024, "\(growth) bytes of memory")
    }
  }

  // MARK: Written to a file

  @Test func `a form that is written to a file is sent as the same form`() async throws {
    let server = try BodyServer()
    let folder = try TemporaryFolder()
    var form = try MultipartFormData(boundary: "a:b")
    try form.append(file: folder.write(Data(repeating: 0x61, count: 200_000), to: "a.txt"), name: "file")
    try form.append(
      .stream(length: 150_000) { InputStream(data: Data(repeating: 0x62, count: 150_000)) }, name: "stream")
    form.throttle(packetSize: 1, delay: .seconds(3_600))
    let place = folder.url("form.multipart")
    let body = try await form.write(to: place, parameters: ["x": "ü"])
    #expect(body.contentType == "multipart/form-data; boundary=\"a:b\"")
    form = try MultipartFormData(boundary: "a:b")
    try form.append(file: folder.url("a.txt"), name: "file")
    try form.append(.data(Data(repeating: 0x62, count: 150_000)), name: "stream")
    let whole = Data(try await form.body(parameters: ["x": "ü"]).bytes())
    #expect(try Data(contentsOf: place) == whole && body.length == Int64(whole.count))
    let session = try HTTPSessionManager()
    for _ in 0..<2 { _ = try await session.upload(body, with: HTTPRequest(.post, to: server.url)) }
    for request in server.requests {
      #expect(request.body == whole && request.values("content-type") == [body.contentType])
      #expect(request.values("content-length") == ["\(whole.count)"])
    }
    #expect(try folder.names == ["a.txt", "form.multipart"])
  }

  @Test func `a form that cannot be written leaves no file, and the one that is there`() async throws {
    let folder = try TemporaryFolder()
    var form = try form()
    let file = try folder.write(Data(repeating: 1, count: 100_000), to: "f")
    try form.append(file: file, name: "f")
    try folder.write("old", to: "there")
    let refused = await #expect(throws: HTTPError.self) { try await form.write(to: folder.url("there")) }
    #expect(refused?.kind == .fileFailed && refused?.code == EEXIST)
    try Data([1]).write(to: file)
    for place in ["there", "new"] {
      let short = await #expect(throws: HTTPError.self) {
        try await form.write(to: folder.url(place), replacesExisting: true)
      }
      #expect(short?.kind == .cannotEncodeRequest)
    }
    await #expect(throws: HTTPError.self) { try await form.write(to: folder.url("no/folder")) }
    await #expect(throws: HTTPError.self) { try await form.write(to: URL(string: "http://h/")!) }
    #expect(try folder.names == ["f", "there"] && folder.text(of: "there") == "old")
    try folder.write(Data(repeating: 1, count: 100_000), to: "f")
    _ = try await form.write(to: folder.url("there"), replacesExisting: true)
    #expect(folder.text(of: "there").hasPrefix("--XX\r\n"))
  }

  @Test func `a form whose writer is cancelled leaves no file`() async throws {
    let folder = try TemporaryFolder()
    let (parts, continuation) = AsyncStream.makeStream(of: Data.self)
    var form = try form()
    try form.append(.sequence(parts, length: 1_000_000), name: "f")
    continuation.yield(Data(repeating: 1, count: 500_000))
    let task = Task { [form] in try await form.write(to: folder.url("form")).length }
    try await eventually(try folder.names) { !$0.isEmpty }
    task.cancel()
    let error = await #expect(throws: HTTPError.self) { try await task.value }
    #expect(error?.kind == .cancelled)
    #expect(try folder.names.isEmpty)
  }

  // MARK: In a request

  @Test func `a form is a request like any other`() async throws {
    var base = HTTPRequestSerializer(headerFields: [:])
    base.headerFields[.accept] = "text/plain"
    var form = try form()
    form.append(Data("x".utf8), name: "f")
    let own = HTTPRequest(
      method: .post, scheme: "http", authority: "h", path: "/", headerFields: [.contentType: "text/plain"])
    for base in [base, JSONRequestSerializer(base: base)] as [any RequestSerializer] {
      let serializer = MultipartRequestSerializer(base: base, form: form)
      let (made, body) = try serializer.serialize(own, url: URL(string: "http://h/up?x=1"), parameters: ["a": 1])
      #expect(made.path == "/up?x=1")
      #expect(made.headerFields[.contentType] == "multipart/form-data; boundary=XX")
      #expect(made.headerFields[.accept] == "text/plain")
      #expect(try await body.text().hasPrefix("--XX\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n"))
    }
  }

  @Test(arguments: [HTTPRequest.Method.get, .head])
  func `a method without a body cannot send a form`(_ method: HTTPRequest.Method) throws {
    let request = HTTPRequest(method: method, scheme: "http", authority: "h", path: "/")
    let serializer = MultipartRequestSerializer(form: try form())
    #expect(throws: HTTPError.self) { try serializer.serialize(request, url: nil, parameters: nil) }
  }
}
