import Foundation
import HTTPTypes
import Testing

@testable import NetwatchHTTP

/// Tests of the fields after a body (trailers).
@Suite(.timeLimit(.minutes(5))) struct TrailerTests {
  private let digest = HTTPField.Name("X-Digest")!

  private func server(_ answers: [String]) throws -> ScriptedServer {
    try ScriptedServer { connection, _ in
      for answer in answers where connection.readHead() != nil { connection.write(answer) }
      connection.waitForEnd()
    }
  }

  private func chunked(_ body: String, _ trailers: String, _ head: String = "200 OK") -> String {
    let chunk = body.isEmpty ? "" : "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n"
    return "HTTP/1.1 \(head)\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)0\r\n\(trailers)\r\n"
  }

  @Test func `a reply has them, apart from its head, and the next one does not`() async throws {
    let server = try server([
      chunked("hello", "X-Digest: 1\r\nx-digest: 2\r\nContent-Length: 99\r\nX-Empty:\r\n"),
      chunked("hello", ""), chunked("", "X-Digest: 3\r\n"),
    ])
    defer { server.stop() }
    let session = try HTTPSessionManager()
    let request = try HTTPRequest(.get, to: server.url)
    let first = try await session.data(for: request)
    #expect(first.value == Data("hello".utf8))
    #expect(
      first.trailers.map { "\($0.name.canonicalName)=\($0.value)" } == [
        "x-digest=1", "x-digest=2", "content-length=99", "x-empty=",
      ])
    #expect(!first.response.headerFields.contains(digest) && !first.response.headerFields.contains(.contentLength))
    #expect(try await session.data(for: request).trailers == [:])
    #expect(try await session.data(for: request).trailers == [digest: "3"])
  }

  @Test func `a stream has them once its body has been read`() async throws {
    let server = try server([chunked("hello", "X-Digest: 1\r\n")])
    defer { server.stop() }
    let stream = try await HTTPSessionManager().stream(HTTPRequest(.get, to: server.url))
    var parts = stream.body.makeAsyncIterator()
    var body = Data()
    while let part = try await parts.next() {
      if body.isEmpty {
        // The trailers may have come, but the stream does not show them before the body has been read.
        #expect(part == Data("hello".utf8))
      }
      body += part
    }
    #expect(body == Data("hello".utf8) && stream.trailers == [digest: "1"])
  }

  @Test func `they come with a download and with what a serializer has made`() async throws {
    let server = try server([chunked("[1]", "X-Digest: 1\r\n", "200 OK\r\nContent-Type: application/json")])
    defer { server.stop() }
    let session = try HTTPSessionManager(baseURL: server.url)
    let reply = try await session.send(HTTPCall(.get, "x"), as: DecodableResponseSerializer([Int].self))
    #expect(reply.value == [1] && reply.trailers == [digest: "1"])
  }

  @Test func `those of a redirect are not those of the answer`() async throws {
    let server = try server([
      chunked("", "X-Digest: old\r\n", "302 Found\r\nLocation: /next"),
      chunked("moved", "X-Digest: old\r\n", "302 Found\r\nLocation: /next"), chunked("here", ""),
    ])
    defer { server.stop() }
    let reply = try await HTTPSessionManager().data(for: HTTPRequest(.get, to: server.url))
    #expect(reply.value == Data("here".utf8) && reply.trailers == [:])
  }

  @Test func `a redirect that is the answer keeps its own, though somebody was asked`() async throws {
    for body in ["", "moved"] {
      let server = try server([chunked(body, "X-Digest: 1\r\n", "302 Found\r\nLocation: /next")])
      defer { server.stop() }
      var options = HTTPTaskOptions()
      options.onRedirect = { _ in nil }
      let reply = try await HTTPSessionManager().data(for: HTTPRequest(.get, to: server.url), options: options)
      #expect(reply.response.status == .found && reply.trailers == [digest: "1"])
    }
  }

  @Test func `trailers that are larger than any head are refused`() async throws {
    let server = try ScriptedServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n")
      while connection.write("X-More: \(String(repeating: "x", count: 1_000))\r\n") {}
    }
    defer { server.stop() }
    let error = await #expect(throws: HTTPError.self) {
      try await HTTPSessionManager().data(for: HTTPRequest(.get, to: server.url))
    }
    #expect(error?.kind == .responseTooLarge)
    #expect(error?.reason == .headTooLong)
  }

  @Test func `a folded trailer is one field`() {
    var reader = HeadReader(mostBytes: 256 * 1_024)
    for line in [" nothing\r\n", "X-Digest: a\r\n", "\t b \r\n", " \r\n", "X-Two: c\r\n", "\r\n"] {
      let bytes = Array(line.utf8)
      #expect(unsafe bytes.withUnsafeBytes { unsafe reader.append(trailer: $0) } == nil)
    }
    #expect(reader.trailers?.map { "\($0.name.rawName)=\($0.value)" } == ["X-Digest=a b", "X-Two=c"])
  }

  @Test func `a trailer that is folded without end is a fault`() {
    var reader = HeadReader(mostBytes: 256 * 1_024)
    let faults = (["X-Digest: a\r\n"] + Array(repeating: " a\r\n", count: 101)).map { line in
      let bytes = Array(line.utf8)
      return unsafe bytes.withUnsafeBytes { unsafe reader.append(trailer: $0) }
    }
    #expect(faults.firstIndex { $0 != nil } == 101)
  }

  @Test func `nginx sends them over HTTP/1.1 and HTTP/2`() async throws {
    let authority = try CertificateAuthority()
    let nginx = try NginxServer(
      server: "location = /t.txt { gzip on; add_trailer X-Digest $status-$body_bytes_sent; }",
      certificate: authority.chain(authority.issue("leaf")))
    // The file is sent compressed, so it has no Content-Length. With a Content-Length, libcurl would read no trailers.
    let body = String(repeating: "hello", count: 100)
    try nginx.serve(body, as: "t.txt")
    let policy = try SecurityPolicy(.none, roots: .certificates(X509Certificate.load(authority.root.certificate)))
    let session = try HTTPSessionManager(policy: policy)
    for (url, version) in [(nginx.url, "1.1"), (nginx.tlsURL(), "2")] {
      let request = try HTTPRequest(.get, to: url.appending(path: "t.txt"))
      let reply = try await session.data(for: request)
      #expect(reply.metrics.protocolVersion == version && reply.value == Data(body.utf8))
      #expect(reply.trailers[digest]?.hasPrefix("200-") == true, "\(version): \(reply.trailers)")
      let stream = try await session.stream(request)
      for try await _ in stream.body {}
      #expect(stream.trailers[digest]?.hasPrefix("200-") == true, "\(version)")
    }
  }

  @Test func `node sends them over HTTP/2`() async throws {
    let server = try NodeServer(
      """
      server.on('stream', (stream, fields) => {
        stream.respond({ ':status': 200 }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'x-digest': 'of ' + fields['te'] }));
        stream.end(fields[':path'] === '/empty' ? '' : 'hello');
      });
      """)
    let session = try server.session()
    for path in ["", "empty"] {
      let request = try HTTPRequest(.get, to: server.url.appending(path: path), headerFields: [.te: "trailers"])
      #expect(try await session.data(for: request).trailers == [digest: "of trailers"])
    }
  }
}
