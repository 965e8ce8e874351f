import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP
@testable import NetwatchHTTPFoundation

/// Tests of requests whose bodies are compressed while they are sent.
@Suite(.timeLimit(.minutes(5))) struct CompressedBodyTests {
  private static let text = Data((0..<30_000).map { "line \($0 &* 7_919 % 1_000)" }.joined(separator: "\n").utf8)

  private static let regular = Data((0..<200_000).map { UInt8($0 % 7) })

  private static func inflate(_ body: [UInt8]) throws(HTTPError) -> Data {
    let decoder = BodyDecoder([.gzip])
    var whole = Data()
    var failure: HTTPError?
    unsafe body.withUnsafeBytes { bytes in
      do throws(HTTPError) {
        _ = try unsafe decoder.decode(bytes) {
          unsafe whole.append(contentsOf: $0)
          return .taken
        }
        try decoder.end()
      } catch { failure = error }
    }
    if let failure { throw failure }
    return whole
  }

  enum Kind: CaseIterable { case memory, short, file, sequence, stream, form, throttled }

  private func body(_ kind: Kind, _ folder: TemporaryFolder) throws -> (HTTPBody, Data) {
    let text = Self.text
    switch kind {
    case .memory: return (.data(text, contentType: "text/plain"), text)
    case .short: return (.data(text.prefix(2_000), contentType: "text/plain"), text.prefix(2_000))
    case .file: return (try .file(folder.write(text, to: "f.txt")), text)
    case .sequence:
      let parts = AsyncStream<Data> { continuation in
        for start in stride(from: 0, to: text.count, by: 7_000) { continuation.yield(text[start...].prefix(7_000)) }
        continuation.finish()
      }
      return (.sequence(parts), text)
    case .stream: return (.stream(length: Int64(text.count)) { InputStream(data: text) }, text)
    case .form:
      var form = try MultipartFormData(boundary: "XX")
      try form.append(file: folder.write(text, to: "f.txt"), name: "f")
      let head =
        "--XX\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f.txt\"\r\nContent-Type: text/plain\r\n\r\n"
      return (try form.body(), Data(head.utf8) + text + Data("\r\n--XX--\r\n".utf8))
    case .throttled: return (HTTPBody.data(text).throttled(packetSize: 50_000, delay: .milliseconds(1)), text)
    }
  }

  @Test(arguments: Kind.allCases) func `a server finds gzip, and what was meant in it`(_ kind: Kind) async throws {
    let server = try BodyServer()
    let folder = try TemporaryFolder()
    let session = try HTTPSessionManager()
    let (body, expected) = try body(kind, folder)
    _ = try await session.upload(body.compressed(), with: HTTPRequest(.post, to: server.url))
    let request = try #require(server.requests.first)
    #expect(request.values("content-encoding") == ["gzip"])
    #expect(request.values("content-type") == [body.contentType].compactMap { $0 })
    // Only a short body in memory has a known length after compression. All others are sent in chunks.
    #expect(request.values("transfer-encoding") == (kind == .short ? [] : ["chunked"]))
    #expect(request.values("content-length") == (kind == .short ? ["\(request.body.count)"] : []))
    #expect(try Self.inflate([UInt8](request.body)) == expected)
    #expect(request.body.count < expected.count / 2)
  }

  @Test func `node takes it over HTTP/2, and gzip itself finds no fault`() async throws {
    let folder = try TemporaryFolder()
    let body = HTTPBody.data(Self.text).compressed()
    let file = try folder.write(Data(try await body.bytes()), to: "f.gz")
    #expect(try Programs.run(["gzip", "-dc", file.path]) == String(decoding: Self.text, as: UTF8.self))
    let server = try NodeServer(
      """
      server.on('stream', (stream, fields) => {
        const gunzip = require('zlib').createGunzip();
        const parts = [];
        stream.pipe(gunzip).on('data', part => parts.push(part)).on('end', () => {
          stream.respond({ ':status': 200, 'x-encoding': fields['content-encoding'], 'x-length': fields['content-length'] || 'none' });
          stream.end(Buffer.concat(parts));
        }).on('error', () => { stream.respond({ ':status': 400 }); stream.end(); });
      });
      """)
    let reply = try await server.session().upload(body, with: HTTPRequest(.post, to: server.url))
    #expect(reply.value == Self.text)
    let encoding = HTTPField.Name("x-encoding")!, length = HTTPField.Name("x-length")!
    #expect(reply.response.headerFields[encoding] == "gzip" && reply.response.headerFields[length] == "none")
  }

  @Test(arguments: Kind.allCases.filter { $0 != .sequence })
  func `it can be sent again from its beginning, wherever it was`(_ kind: Kind) async throws {
    let folder = try TemporaryFolder()
    let (plain, expected) = try body(kind, folder)
    let body = plain.compressed()
    let length = try await BodyReader(body).rest().count
    for count in [0, 1, 100, 70_000].filter({ $0 < length }) {
      let reader = try BodyReader(body)
      var sent = 0
      while sent < count { sent += try await reader.next(count - sent).count }
      #expect(reader.rewind())
      #expect(try Self.inflate(try await reader.rest()) == expected)
    }
  }

  @Test func `it is sent again to another place, with its encoding, and a GET after it has none`() async throws {
    let other = try BodyServer()
    let session = try HTTPSessionManager()
    for (status, body) in [(307, Self.text), (303, Data())] {
      let server = try HeadServer { _ in "\(status) Elsewhere\r\nLocation: \(other.url)" }
      _ = try await session.upload(
        .data(Self.text.prefix(9_000)).compressed(), with: HTTPRequest(.post, to: server.url()))
      let request = try #require(other.requests.last)
      #expect(request.values("content-encoding") == (body.isEmpty ? [] : ["gzip"]))
      #expect(try body.isEmpty ? request.body.isEmpty : Self.inflate([UInt8](request.body)) == Self.text.prefix(9_000))
    }
  }

  @Test func `what a sequence has said is sent before it says more`() async throws {
    let (parts, continuation) = AsyncStream.makeStream(of: Data.self)
    let reader = try BodyReader(HTTPBody.sequence(parts).compressed())
    let decoder = BodyDecoder([.gzip])
    var heard = Data()
    for line in ["first\n", "second\n"] {
      continuation.yield(Data(line.utf8))
      heard = Data()
      while heard.isEmpty {
        let bytes = try await reader.next(1_000)
        try unsafe bytes.withUnsafeBytes { bytes in
          _ = try unsafe decoder.decode(bytes) {
            unsafe heard.append(contentsOf: $0)
            return .taken
          }
        }
      }
      #expect(heard == Data(line.utf8))
    }
    continuation.finish()
    _ = try await reader.rest()
  }

  @Test func `a file of 96 MiB is compressed in a few MiB of memory`() async {
    await #expect(processExitsWith: .success) {
      let server = try ScriptedServer { connection, _ in
        guard connection.readHead() != nil, connection.readUntil(Data("\r\n0\r\n\r\n".utf8)) != nil else { return }
        connection.write("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
      }
      defer { server.stop() }
      let folder = try TemporaryFolder()
      var form = try MultipartFormData(boundary: "XX")
      try form.append(file: folder.makeSparse("big.bin", size: 96 << 20), name: "f")
      let session = try HTTPSessionManager()
      let request = try HTTPRequest(.post, to: server.url)
      let before = try PeakMemory.bytes()
      let reply = try await session.upload(try form.body().compressed(), with: request)
      let growth = try PeakMemory.bytes() - before
      precondition(reply.response.status == .created, "\(reply.response.status)")
      precondition(growth <= 32 * 1_024 * 1_024, "\(growth) bytes of memory")
    }
  }

  @Test func `an empty body and a compressed one stay as they are`() async throws {
    #expect(HTTPBody.empty.compressed().contentEncoding == nil)
    #expect(HTTPBody.data(Data(), contentType: "a/b").compressed().contentType == "a/b")
    let once = HTTPBody.data(Self.text).compressed()
    #expect(try Self.inflate(try await once.compressed().bytes()) == Self.text)
  }

  @Test(arguments: [nil, "a/b"]) func `a sequence without anything in it is gzip of nothing`(_ type: String?)
    async throws
  {
    let server = try BodyServer()
    let session = try HTTPSessionManager()
    // A session uses the libcurl handle of its last request again, so requests without a body alternate here with
    // bodies of unknown length.
    for _ in 0..<2 {
      _ = try await session.data(for: HTTPRequest(.put, to: server.url))
      let body = HTTPBody.sequence(AsyncStream<Data> { $0.finish() }, contentType: type).compressed()
      _ = try await session.upload(body, with: HTTPRequest(.put, to: server.url))
    }
    #expect(server.requests.map { $0.values("content-encoding") } == [[], ["gzip"], [], ["gzip"]])
    #expect(server.requests.map { $0.values("content-length") } == [["0"], [], ["0"], []])
    for request in server.requests where !request.body.isEmpty {
      #expect(try Self.inflate([UInt8](request.body)) == Data())
    }
    #expect(server.requests.filter { !$0.body.isEmpty }.count == 2)
  }

  @Test func `a request with an encoding of its own is refused, and nothing is sent`() async throws {
    let server = try BodyServer()
    let session = try HTTPSessionManager()
    let request = try HTTPRequest(.post, to: server.url, headerFields: [.contentEncoding: "br"])
    let error = await #expect(throws: HTTPError.self) {
      try await session.upload(.data(Self.text).compressed(), with: request)
    }
    #expect(error?.kind == .cannotEncodeRequest && error?.message.contains("leave it out") == true)
    #expect(server.requests.isEmpty)
    _ = try await session.upload(.data(Self.text), with: request)
    #expect(server.requests.first?.values("content-encoding") == ["br"])
  }

  @Test func `a file that has become shorter fails the request`() async throws {
    let server = try BodyServer()
    let folder = try TemporaryFolder()
    let body = try HTTPBody.file(folder.write(Self.text, to: "f.txt")).compressed()
    try folder.write("short", to: "f.txt")
    let session = try HTTPSessionManager()
    let error = await #expect(throws: HTTPError.self) {
      try await session.upload(body, with: HTTPRequest(.post, to: server.url))
    }
    #expect(error?.kind == .cannotEncodeRequest && error?.message.contains("before the length") == true)
    #expect(server.requests.isEmpty)
    try FileManager.default.removeItem(at: folder.url("f.txt"))
    await #expect(throws: HTTPError.self) { try await body.bytes() }
  }

  @Test func `a file that has grown is compressed as it was`() async throws {
    let folder = try TemporaryFolder()
    let body = try HTTPBody.file(folder.write("short", to: "f.txt")).compressed()
    try folder.write("short and long", to: "f.txt")
    #expect(try Self.inflate(try await body.bytes()) == Data("short".utf8))
  }

  @Test func `a session compresses what its serializer makes, if it is long enough`() async throws {
    let server = try BodyServer()
    var configuration = HTTPSessionConfiguration()
    configuration.requestSerializer = CompressedRequestSerializer()
    let session = try HTTPSessionManager(baseURL: server.url, configuration: configuration)
    let long = String(repeating: "x", count: 5_000)
    for (parameters, fields) in [
      (["a": "b"], [:]), (["a": .string(long)], [:]), (["a": .string(long)], [.contentEncoding: "identity"]),
    ] as [(StructuredValue, HTTPFields)] {
      let call = HTTPCall(.post, "form", parameters: parameters, headerFields: fields)
      _ = try await session.send(call, as: HTTPResponseSerializer())
    }
    #expect(server.requests.map { $0.values("content-encoding") } == [[], ["gzip"], ["identity"]])
    #expect(try Self.inflate([UInt8](server.requests[1].body)) == Data("a=\(long)".utf8))
    #expect(server.requests[1].values("content-type") == ["application/x-www-form-urlencoded"])
  }

  @Test func `whoever makes the serializer says which bodies are compressed`() throws {
    var serializer = CompressedRequestSerializer()
    serializer.shouldCompress = { request, body in request.path == "/log" && body.length != 3 }
    for (path, text, coding) in [("/log", "b", nil), ("/log", "long", "gzip"), ("/other", "long", nil)] {
      let post = HTTPRequest(method: .post, scheme: "http", authority: "h", path: path)
      let (_, body) = try serializer.serialize(post, url: nil, parameters: ["a": .string(text)])
      #expect(body.contentEncoding == coding)
    }
    let get = HTTPRequest(method: .get, scheme: "http", authority: "h", path: "/log")
    #expect(try serializer.serialize(get, url: nil, parameters: ["a": "long"]).1.contentEncoding == nil)
  }

  @Test func `a request with an encoding of its own is sent as it is, compressed, or refused`() async throws {
    let server = try BodyServer()
    let long = String(repeating: "x", count: 5_000)
    func send(_ behavior: CompressedRequestSerializer.DuplicateHeaderBehavior) async throws {
      var configuration = HTTPSessionConfiguration()
      var serializer = CompressedRequestSerializer()
      serializer.duplicateHeaderBehavior = behavior
      configuration.requestSerializer = serializer
      let session = try HTTPSessionManager(baseURL: server.url, configuration: configuration)
      let fields: HTTPFields = [.contentEncoding: "identity"]
      let call = HTTPCall(.post, "form", parameters: ["a": .string(long)], headerFields: fields)
      _ = try await session.send(call, as: HTTPResponseSerializer())
    }
    try await send(.skip)
    try await send(.replace)
    let error = await #expect(throws: HTTPError.self) { try await send(.fail) }
    #expect(error?.kind == .cannotEncodeRequest && error?.message.contains("'identity'") == true)
    #expect(server.requests.map { $0.values("content-encoding") } == [["identity"], ["gzip"]])
    #expect(try Self.inflate([UInt8](server.requests[1].body)) == Data("a=\(long)".utf8))
  }

  @Test(arguments: [UInt64(1), 2]) func `whatever is read however, it is the same`(_ seed: UInt64) async throws {
    var random = SplitMix(seed: seed)
    for round in 0..<FuzzRounds.count(default: 200) {
      let isRandom = random.oneIn(2)
      let count = Int.random(in: 1...200_000, using: &random)
      let words = (0..<(isRandom ? count / 8 + 1 : 0)).map { _ in random.next() }
      let plain = isRandom ? unsafe words.withUnsafeBytes { unsafe Data($0.prefix(count)) } : Self.regular.prefix(count)
      let step = Int.random(in: 1...90_000, using: &random)
      let parts = stride(from: 0, to: plain.count, by: step).map { plain[$0...].prefix(step) }
      let body = HTTPBody.sequence(length: random.oneIn(2) ? Int64(plain.count) : nil, contentType: nil) {
        AsyncStream { continuation in
          for part in parts { continuation.yield(part) }
          continuation.finish()
        }
      }.compressed()
      let most = [7, 64, 1_000, 65_536][Int.random(in: 0..<4, using: &random)] + plain.count / 500
      let reader = try BodyReader(body)
      if random.oneIn(4) {
        _ = try await reader.next(most)
        #expect(reader.rewind())
      }
      let sent = try await reader.rest { Int.random(in: 1...most, using: &random) }
      guard try Self.inflate(sent) == plain else {
        Issue.record("seed \(seed), round \(round)")
        return
      }
    }
  }
}
