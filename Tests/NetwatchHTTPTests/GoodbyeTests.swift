import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of how servers end TLS connections, HTTP/2 connections and HTTP/2 streams, and of what the task reports.
@Suite(.timeLimit(.minutes(5))) struct GoodbyeTests {
  private let authority: CertificateAuthority
  private let leaf: CertificateAuthority.Pair
  private let policy: SecurityPolicy
  private let session: HTTPSessionManager
  private let folder: TemporaryFolder

  init() throws {
    authority = try CertificateAuthority()
    leaf = try authority.issue("leaf")
    folder = try TemporaryFolder()
    policy = try SecurityPolicy(.none, roots: .certificates(X509Certificate.load(authority.root.certificate)))
    session = try HTTPSessionManager(policy: policy)
  }

  // MARK: The end of TLS

  /// The script of a server that ends each body as its path says: with a TLS alert (close_notify), or without one.
  private static let ends = """
    def serve(tls, number):
        while True:
            request = head(tls)
            if request is None:
                return
            path = request.split(' ')[1]
            note(path)
            if path.startswith('/whole'):
                tls.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\nConnection: close\\r\\n\\r\\nhello')
            elif path.startswith('/chunks'):
                tls.sendall(b'HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n5\\r\\nhello\\r\\n0\\r\\n\\r\\n')
            elif path.startswith('/missing'):
                tls.sendall(b'HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n5\\r\\nhello\\r\\n')
            elif path.startswith('/empty'):
                tls.sendall(b'HTTP/1.1 204 No Content\\r\\nConnection: close\\r\\n\\r\\n')
            elif path.startswith('/kept'):
                tls.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 5\\r\\n\\r\\nhello')
                continue
            else:
                tls.sendall(b'HTTP/1.1 200 OK\\r\\nConnection: close\\r\\n\\r\\nhello')
            if path.endswith('alert'):
                tls.unwrap()
            return cut(tls)
    """

  private func get(_ server: PythonTLSServer, _ path: String, _ options: HTTPTaskOptions = HTTPTaskOptions())
    async throws(HTTPError) -> HTTPReply<Data>
  {
    try await session.data(for: HTTPRequest(.get, to: server.url.appending(path: path)), options: options)
  }

  @Test(arguments: [TLSVersion.v1_2, .v1_3])
  func `a body without a length is whole only if TLS ends with close_notify`(_ version: TLSVersion) async throws {
    let server = try PythonTLSServer(leaf, Self.ends)
    var configuration = HTTPSessionConfiguration()
    configuration.maximumTLSVersion = version
    let session = try HTTPSessionManager(configuration: configuration, policy: policy)
    func get(_ path: String, _ options: HTTPTaskOptions = HTTPTaskOptions()) async throws(HTTPError) -> HTTPReply<Data>
    {
      try await session.data(for: HTTPRequest(.get, to: server.url.appending(path: path)), options: options)
    }
    #expect(try await get("alert").value == Data("hello".utf8))
    let error = await #expect(throws: HTTPError.self) { try await get("cut") }
    #expect(error?.kind == .connectionLost)
    #expect(error?.reason == .truncated)
    #expect(error?.message.contains("close_notify") == true)
    let reply = try await get("cut", .with { $0.acceptsMissingCloseNotify = true })
    #expect(reply.value == Data("hello".utf8))
  }

  @Test func `a body that says where it ends needs no close_notify`() async throws {
    let server = try PythonTLSServer(leaf, Self.ends)
    for path in ["whole-cut", "chunks-cut"] { #expect(try await get(server, path).value == Data("hello".utf8)) }
    #expect(try await get(server, "empty-cut").response.status == .noContent)
    let head = try await session.data(for: HTTPRequest(.head, to: server.url.appending(path: "cut")))
    #expect(head.response.status == .ok)
    // If the last chunk is missing, the body is incomplete, with or without a close_notify.
    for end in ["alert", "cut"] {
      let error = await #expect(throws: HTTPError.self) {
        try await get(server, "missing-\(end)", .with { $0.acceptsMissingCloseNotify = true })
      }
      #expect(error?.kind == .connectionLost)
      #expect(error?.message.contains("the whole body may have come, which is 5 bytes") == true, "\(error!)")
    }
  }

  @Test func `the end of a connection that several requests have used is that of the last one`() async throws {
    let server = try PythonTLSServer(leaf, Self.ends)
    for end in ["cut", "alert"] {
      #expect(try await get(server, "kept").value == Data("hello".utf8))
      do throws(HTTPError) {
        let reply = try await get(server, end)
        #expect(end == "alert")
        #expect(reply.metrics.reusedConnection)
      } catch {
        #expect(end == "cut")
        #expect(error.reason == .truncated)
      }
    }
  }

  @Test func `a download without close_notify always fails, and leaves no file`() async throws {
    let server = try PythonTLSServer(leaf, Self.ends)
    let options = HTTPTaskOptions.with { $0.acceptsMissingCloseNotify = true }
    let file = folder.url("file")
    let request = try HTTPRequest(.get, to: server.url.appending(path: "cut"))
    let error = await #expect(throws: HTTPError.self) {
      try await session.download(request, to: .file(file), options: options)
    }
    #expect(error?.reason == .truncated)
    let resumed = await #expect(throws: HTTPError.self) {
      try await session.resumableDownload(request, to: file, options: options)
    }
    #expect(resumed?.reason == .truncated)
    #expect(!FileManager.default.fileExists(atPath: file.path))
    let whole = try HTTPRequest(.get, to: server.url.appending(path: "alert"))
    _ = try await session.download(whole, to: .file(file))
    #expect(try Data(contentsOf: file) == Data("hello".utf8))
  }

  // MARK: The end of HTTP/2

  /// Returns the script of a server that answers the first request of the first connection, leaves this connection with
  /// GOAWAY at the second request, and answers every request of other connections.
  ///
  /// - Parameters:
  ///   - first: Whether the server leaves at the first request. Default: false.
  ///   - closes: Whether the server closes the connection after GOAWAY. Default: true.
  ///   - steps: Whether the server first announces GOAWAY, with the highest number of a stream. Default: false.
  private static func goodbyes(first: Bool = false, closes: Bool = true, steps: Bool = false) -> String {
    """
    def serve(tls, number):
        for kind, flags, stream, content in frames(tls):
            if kind != HEADERS:
                continue
            note(f'{number} {stream}')
            if number > 0 or stream == 1 and not \(first ? "True" : "False"):
                tls.sendall(frame(HEADERS, END_HEADERS, stream, OK) + frame(DATA, END_STREAM, stream, b'ok'))
                continue
            if \(steps ? "True" : "False"):
                tls.sendall(goaway(2 ** 31 - 1))
                time.sleep(0.1)
            tls.sendall(goaway(stream - 2 if stream > 1 else 0))
            if \(closes ? "True" : "False"):
                tls.settimeout(0.3)
    """
  }

  @Test(arguments: ["GET", "POST", "DELETE", "download"])
  func `a request that the server has not processed is sent again once, whatever its method`(_ what: String)
    async throws
  {
    let server = try PythonTLSServer(leaf, alpn: "h2", Self.goodbyes())
    #expect(try await get(server, "first").value == Data("ok".utf8))
    let url = server.url.appending(path: "second")
    switch what {
    case "download":
      _ = try await session.download(HTTPRequest(.get, to: url), to: .file(folder.url("file")))
      #expect(try Data(contentsOf: folder.url("file")) == Data("ok".utf8))
    default:
      let method = try #require(HTTPRequest.Method(what))
      let body = method == .post ? HTTPBody.data(Data(count: 3_000)) : nil
      #expect(try await session.data(for: HTTPRequest(method, to: url), body: body).value == Data("ok".utf8))
    }
    #expect(try server.notes == ["0 1", "0 3", "1 1"])
  }

  @Test func `also the first of its connection, without a close, and after a goodbye in two steps`() async throws {
    for script in [Self.goodbyes(first: true), Self.goodbyes(closes: false), Self.goodbyes(steps: true)] {
      let server = try PythonTLSServer(leaf, alpn: "h2", script)
      for path in ["first", "second"] { #expect(try await get(server, path).value == Data("ok".utf8)) }
    }
  }

  @Test func `a server that processes nothing is asked twice, and no more`() async throws {
    let server = try PythonTLSServer(
      leaf, alpn: "h2",
      """
      def serve(tls, number):
          for kind, flags, stream, content in frames(tls):
              if kind == HEADERS:
                  note(f'{number}')
                  tls.sendall(goaway(0))
      """)
    for method in [HTTPRequest.Method.get, .post] {
      let error = await #expect(throws: HTTPError.self) {
        try await session.data(for: HTTPRequest(method, to: server.url))
      }
      #expect(error?.reason == .goneAway)
    }
    #expect(try server.notes == ["0", "1", "2", "3"])
  }

  @Test func `a body that can be sent once only is not sent again`() async throws {
    let server = try PythonTLSServer(
      leaf, alpn: "h2",
      """
      def serve(tls, number):
          for kind, flags, stream, content in frames(tls):
              if kind == DATA and content:
                  note(f'{number}')
                  tls.sendall(goaway(0))
      """)
    let (parts, part) = AsyncStream.makeStream(of: Data.self)
    part.yield(Data(count: 3_000))
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.post, to: server.url), body: .sequence(parts, length: 6_000))
    }
    #expect(error?.kind == .connectionLost)
    #expect(error?.reason == .goneAway)
    #expect(error?.message.contains("has not processed the request") == true)
    #expect(try server.notes == ["0"])
  }

  @Test func `a stream that was reset is not sent again, even if the server leaves at the same time`() async throws {
    let server = try PythonTLSServer(
      leaf, alpn: "h2",
      """
      def serve(tls, number):
          for kind, flags, stream, content in frames(tls):
              if kind == HEADERS:
                  note(f'{number}')
                  tls.sendall(frame(RST_STREAM, 0, stream, struct.pack('>I', 2)) + goaway(stream))
      """)
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.post, to: server.url))
    }
    #expect(error?.kind == .connectionLost)
    #expect(error?.reason != .goneAway)
    #expect(try server.notes == ["0"])
  }

  /// Tests a response that is not valid, followed by GOAWAY. The server has processed the request.
  @Test func `a POST that was answered badly is not sent again`() async throws {
    let server = try PythonTLSServer(
      leaf, alpn: "h2",
      """
      def serve(tls, number):
          for kind, flags, stream, content in frames(tls):
              if kind == DATA and flags & END_STREAM:
                  note(f'{number}')
                  fields = OK + field(b'connection', b'close')
                  tls.sendall(frame(HEADERS, END_HEADERS, stream, fields) + goaway(stream))
      """)
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(for: HTTPRequest(.post, to: server.url), body: .data(Data(count: 10)))
    }
    #expect(error?.kind == .connectionLost)
    #expect(error?.reason != .goneAway)
    #expect(try server.notes == ["0"])
  }

  /// Tests requests that share a connection. Any of them may be the one that reads GOAWAY.
  @Test func `of many requests at once, each that was not processed is sent again`() async throws {
    let server = try PythonTLSServer(
      leaf, alpn: "h2",
      """
      def serve(tls, number):
          for kind, flags, stream, content in frames(tls):
              if kind != HEADERS:
                  continue
              note(f'{number} {stream}')
              if number > 0 or stream == 1:
                  tls.sendall(frame(HEADERS, END_HEADERS, stream, OK) + frame(DATA, END_STREAM, stream, b'ok'))
              elif stream == 13:
                  tls.sendall(goaway(1))
      """)
    _ = try await get(server, "first")
    let replies = await session.batch(
      (0..<6).map { number in
        HTTPCall(number % 2 == 0 ? .post : .get, "\(server.url)\(number)", body: number % 2 == 0 ? .text("body") : nil)
      }, limit: 6)
    for reply in replies { #expect(try reply.get().value == Data("ok".utf8)) }
    #expect(try server.notes.filter { !$0.hasPrefix("0") }.count == 6)
  }

  @Test func `a stream that ends before its declared length is a loss, also below a request with a body`() async throws
  {
    let server = try PythonTLSServer(
      leaf, alpn: "h2",
      """
      def serve(tls, number):
          for kind, flags, stream, content in frames(tls):
              if kind == DATA and flags & END_STREAM:
                  tls.sendall(frame(HEADERS, END_HEADERS, stream, OK + field(b'content-length', b'1000')))
                  time.sleep(0.1)
                  tls.sendall(frame(DATA, 0, stream, b'0123456789'))
                  time.sleep(0.1)
                  tls.sendall(frame(RST_STREAM, 0, stream, b'\\0\\0\\0\\0'))
      """)
    let file = folder.url("file")
    let error = await #expect(throws: HTTPError.self) {
      try await session.download(HTTPRequest(.post, to: server.url), body: .text("body"), to: .file(file))
    }
    #expect(error?.kind == .connectionLost)
    #expect(error?.message.contains("10 of the 1000 bytes") == true, "\(error!)")
    #expect(!FileManager.default.fileExists(atPath: file.path))
  }

  @Test func `an end behind a whole body says that the body may be whole`() async throws {
    let server = try PythonTLSServer(
      leaf, alpn: "h2",
      """
      def serve(tls, number):
          for kind, flags, stream, content in frames(tls):
              if kind == HEADERS:
                  tls.sendall(frame(HEADERS, END_HEADERS, stream, OK) + frame(DATA, 0, stream, b'hello'))
                  return cut(tls)
      """)
    let error = await #expect(throws: HTTPError.self) { try await get(server, "") }
    #expect(error?.kind == .connectionLost)
    #expect(error?.message.contains("the whole body may have come, which is 5 bytes") == true, "\(error!)")
  }

  /// - Parameters:
  ///   - size: The size of the request's body, in bytes. The server takes 1,000 bytes of it.
  ///   - isJoined: Whether the response and the reset come in one TLS record.
  private func earlyResponse(
    _ code: Int, hasLength: Bool = true, size: Int = 3_000, isJoined: Bool = false
  ) async throws -> HTTPReply<Data> {
    let server = try PythonTLSServer(
      leaf, alpn: "h2",
      """
      def serve(tls, number):
          for kind, flags, stream, content in frames(tls, struct.pack('>HI', 4, 1000)):
              if kind == HEADERS and stream == 1:
                  tls.sendall(frame(HEADERS, END_HEADERS, stream, OK) + frame(DATA, END_STREAM, stream, b'ok'))
              elif kind == HEADERS:
                  fields = status(\(code)) + \(hasLength ? "field(b'content-length', b'3')" : "b''")
                  parts = [frame(HEADERS, END_HEADERS, stream, fields) + frame(DATA, END_STREAM, stream, b'big'),
                           frame(RST_STREAM, 0, stream, b'\\0\\0\\0\\0')]
                  for part in [b''.join(parts)] if \(isJoined ? "True" : "False") else parts:
                      tls.sendall(part)
      """)
    _ = try await get(server, "first")
    return try await session.data(for: HTTPRequest(.post, to: server.url), body: .data(Data(count: size)))
  }

  @Test(arguments: [413, 200], [3_000, 3_000_000])
  func `a response is kept although the server resets the rest of the request`(_ code: Int, _ size: Int) async throws {
    for hasLength in [true, false] {
      let reply = try await earlyResponse(code, hasLength: hasLength, size: size)
      #expect(reply.response.status.code == code)
      #expect(reply.value == Data("big".utf8))
    }
  }

  /// libcurl 7.88 discards a response when it has read the reset that follows it.
  @Test(arguments: [3_000, 3_000_000]) func `a response that libcurl has lost is named as the reason`(
    _ size: Int
  ) async throws {
    do {
      let reply = try await earlyResponse(413, size: size, isJoined: true)
      #expect(CurlLibrary.version >= 0x08_0100)
      #expect(reply.value == Data("big".utf8))
    } catch let error as HTTPError {
      #expect(CurlLibrary.version < 0x08_0100)
      #expect(error.reason == .closed)
      #expect(error.message.contains("has lost the answer"))
    }
  }

  @Test func `a server that answers first gets the rest of the request as far as it takes it`() async throws {
    let server = try PythonTLSServer(
      leaf, alpn: "h2",
      """
      def serve(tls, number):
          taken = 0
          for kind, flags, stream, content in frames(tls, struct.pack('>HI', 4, 1000)):
              if kind == HEADERS:
                  fields = OK + field(b'content-length', b'3')
                  tls.sendall(frame(HEADERS, END_HEADERS, stream, fields) + frame(DATA, END_STREAM, stream, b'big'))
              elif kind == DATA:
                  taken += len(content)
                  if flags & END_STREAM:
                      note(f'{taken}')
                  elif content:
                      for place in (0, stream):
                          tls.sendall(frame(WINDOW_UPDATE, 0, place, struct.pack('>I', len(content))))
      """)
    let reply = try await session.data(for: HTTPRequest(.post, to: server.url), body: .data(Data(count: 100_000)))
    #expect(reply.value == Data("big".utf8))
    #expect(try await eventually(server.notes) { !$0.isEmpty } == ["100000"])
  }
}
