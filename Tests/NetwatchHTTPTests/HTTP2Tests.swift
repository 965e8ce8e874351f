import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of many requests on one connection, and of servers that disturb them.
@Suite(.timeLimit(.minutes(5))) struct HTTP2Tests {
  private let authority: CertificateAuthority
  private let leaf: CertificateAuthority.Pair
  private let policy: SecurityPolicy

  init() throws {
    authority = try CertificateAuthority()
    leaf = try authority.issue("leaf")
    policy = try SecurityPolicy(.none, roots: .certificates(X509Certificate.load(authority.root.certificate)))
  }

  private func connections(_ lines: [String]) -> Int {
    Set(lines.compactMap { $0.split(separator: " ").first { $0.hasPrefix("connection=") } }).count
  }

  @Test func `a hundred requests share one connection`() async throws {
    let server = try NginxServer(certificate: authority.chain(leaf))
    let session = try HTTPSessionManager(baseURL: server.tlsURL(), policy: policy)
    let request = try HTTPRequest(.get, to: session.url(for: "method"))
    let replies = await session.batch(Array(repeating: request, count: 100), limit: 100)
    #expect(try Set(replies.map { try $0.get().metrics.protocolVersion }) == ["2"])
    #expect(connections(try await server.log(lines: 100)) == 1)
  }

  @Test func `a server that says goodbye now and then loses no request`() async throws {
    let server = try NginxServer(
      server: "keepalive_requests 20; location = /bye { default_type text/plain; return 200 bye; }",
      certificate: authority.chain(leaf))
    let session = try HTTPSessionManager(baseURL: server.tlsURL(), policy: policy)
    let request = try HTTPRequest(.get, to: session.url(for: "bye"))
    let replies = await session.batch(Array(repeating: request, count: 100), limit: 10)
    #expect(try replies.map { try $0.get().value } == Array(repeating: Data("bye".utf8), count: 100))
    #expect(connections(try await server.log(lines: 100)) >= 5)
  }

  @Test func `a cancelled request does not disturb the others on its connection`() async throws {
    let server = try NginxServer(
      server: "location /slow/ { alias files/; limit_rate 1k; } location /faster/ { alias files/; limit_rate 400k; }",
      certificate: authority.chain(leaf))
    try server.serve(Data(repeating: 7, count: 400_000), as: "body")
    let session = try HTTPSessionManager(baseURL: server.tlsURL(), policy: policy)
    let results = Box<[Int: Result<Int, HTTPError>]>([:])
    let tasks = try (0..<6).map { number in
      let place = try session.url(for: number < 3 ? "slow/body" : "faster/body")
      return session.dataTask(try HTTPRequest(.get, to: place)) { result in
        results.change { $0[number] = result.map(\.value.count) }
      }
    }
    for task in tasks { task.resume() }
    try await eventually(tasks.allSatisfy { $0.progress.received > 0 }) { $0 }
    for task in tasks[..<3] { task.cancel() }
    let ends = try await eventually(results.now) { $0.count == 6 }
    for number in 0..<3 {
      #expect(throws: HTTPError.self) { try ends[number]?.get() }
      #expect(try ends[number + 3]?.get() == 400_000)
    }
    // libcurl may tell the server only with the next request that the first three were cancelled.
    #expect(connections(try await server.log(lines: 3)) == 1)
  }

  @Test func `a server that dies in the middle fails every request that it had, once`() async throws {
    var server: NginxServer? = try NginxServer(
      server: "location /slow/ { alias files/; limit_rate 10k; }", certificate: authority.chain(leaf))
    try server?.serve(Data(repeating: 7, count: 4_000_000), as: "body")
    let session = try HTTPSessionManager(baseURL: server?.tlsURL(), policy: policy)
    let request = try HTTPRequest(.get, to: session.url(for: "slow/body"))
    let ends = Box<[HTTPError?]>([])
    let tasks = (0..<10).map { _ in
      session.dataTask(request) { result in
        ends.change { ends in
          if case .failure(let error) = result { ends.append(error) } else { ends.append(nil) }
        }
      }
    }
    for task in tasks { task.resume() }
    try await eventually(tasks.allSatisfy { $0.progress.received > 0 }) { $0 }
    server = nil
    let kinds = try await eventually(ends.now) { $0.count == 10 }.map { $0?.kind }
    #expect(kinds == Array(repeating: .connectionLost, count: 10))
    session.invalidate()
    await session.waitUntilInvalidated()
    #expect(ends.now.count == 10)
  }

  @Test func `an upload that the server does not want gets its answer`() async throws {
    let server = try NginxServer(
      server: "location /small/ { client_max_body_size 1k; dav_methods PUT; }", certificate: authority.chain(leaf))
    let session = try HTTPSessionManager(baseURL: server.tlsURL(), policy: policy)
    let reply = try await session.upload(
      .data(Data(count: 5_000_000)), with: HTTPRequest(.put, to: session.url(for: "small/file")))
    #expect(reply.response.status == .contentTooLarge)
  }

  private static let settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]

  private static let answers: [(what: String, bytes: [UInt8])] = [
    ("another protocol", Array("HTTP/1.1 200 OK\r\n\r\nhello".utf8)),
    ("a frame longer than any may be", settings + [0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1]),
    ("a stream that is broken off", settings + [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 2]),
    ("a head that cannot be unpacked", settings + [0, 0, 2, 1, 5, 0, 0, 0, 1, 0xff, 0xff]),
    ("data before the head", settings + [0, 0, 2, 0, 1, 0, 0, 0, 1, 0x68, 0x69]),
    ("a head without a status", settings + [0, 0, 1, 1, 5, 0, 0, 0, 1, 0x84]),
    ("half a frame", settings + [0, 0, 9, 1]),
  ]

  @Test(arguments: answers)
  func `a server that breaks the rules of HTTP 2 loses the request`(_ what: String, _ answer: [UInt8]) async throws {
    let server = try HTTP2Server(leaf, answer: answer, hangsUp: what == "half a frame")
    let session = try HTTPSessionManager(baseURL: server.url, policy: policy)
    // libcurl 8.14 waits for the rest of the frame that these bytes announce.
    let isWaitedFor = what == "another protocol" && CurlLibrary.version >= 0x08_0e00
    let error = await #expect(throws: HTTPError.self) {
      try await session.data(
        for: HTTPRequest(.get, to: server.url), options: .with { $0.timeout = isWaitedFor ? .seconds(1) : nil })
    }
    #expect(error?.kind == (isWaitedFor ? .timedOut : .connectionLost), "\(what): \(error?.description ?? "")")
  }
}
