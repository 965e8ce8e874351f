import Foundation
import HTTPTypes
import NetwatchEventLoop
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of requests that are described as curl commands, which a shell runs.
@Suite(.timeLimit(.minutes(5))) struct CURLDescriptionTests {
  private let server: BodyServer
  private let session: HTTPSessionManager

  init() throws {
    server = try BodyServer()
    session = try HTTPSessionManager()
  }

  private func request(
    _ method: HTTPRequest.Method = .get, _ path: String = "/", _ fields: HTTPFields = [:]
  ) -> HTTPRequest {
    HTTPRequest(
      method: method, scheme: "http", authority: "127.0.0.1:\(server.server.port)", path: path, headerFields: fields)
  }

  private func field(_ name: String, _ value: String) -> HTTPFields { [HTTPField.Name(name)!: value] }

  /// Sends a request, runs its curl command, and expects that the server receives the same request from both.
  private func expectSame(
    _ request: HTTPRequest, _ body: HTTPBody? = nil, input: String = "",
    _ location: SourceLocation = #_sourceLocation
  ) async throws {
    let command = try await session.cURLDescription(of: request, body: body, redacting: [])
    _ = try await session.data(for: request, body: body)
    try Programs.run(["sh", "-c", "\(command) --silent --show-error --max-time 60"], input: input)
    let requests = server.requests
    #expect(requests.count >= 2)
    guard let own = requests.dropLast().last, let theirs = requests.last else { return }
    #expect(own.firstLine == theirs.firstLine, "\(command)", sourceLocation: location)
    #expect(Self.fields(own) == Self.fields(theirs), "\(command)", sourceLocation: location)
    #expect(own.body == theirs.body, "\(command)", sourceLocation: location)
  }

  /// Returns the fields of a request without Accept-Encoding, because netwatch and curl accept different codings.
  private static func fields(_ request: BodyServer.Request) -> [String] {
    request.fields.filter { !$0.lowercased().hasPrefix("accept-encoding:") }
  }

  @Test func `curl sends the same request for each method`() async throws {
    for method in [.get, .post, .put, .patch, .delete, .options, HTTPRequest.Method("PURGE")!] {
      try await expectSame(request(method, "/a?b=c&d=$HOME"))
    }
    #expect(request(.head).cURLDescription().contains("--head"))
    _ = try await session.data(for: request(.head))
    try Programs.run(["sh", "-c", "\(request(.head).cURLDescription()) --silent"])
    #expect(server.requests.suffix(2).map(\.firstLine) == ["HEAD / HTTP/1.1", "HEAD / HTTP/1.1"])
  }

  @Test(arguments: [
    "plain", "", "it's $(touch /tmp/no) `id` \"quoted\" \\ $HOME !! ; & | > < * ?", "naïve 日本 😀", "'", "''\\''", "-x",
    "@file", "a;b", "e'\u{301}x",
    "%41%", "{a,b}[1-3]", "#~",
  ])
  func `what is hostile to a shell stays what it is`(_ value: String) async throws {
    try await expectSame(request(.get, "/", field("X-Own", value)))
    let path = value.replacingOccurrences(of: "#", with: "").replacingOccurrences(of: " ", with: "+")
    if path.utf8.allSatisfy({ $0 < 0x80 }), !path.contains("\\"), !path.contains("%%"), !path.hasSuffix("%"),
      !path.contains("?")
    {
      try await expectSame(request(.get, "/a/\(path)?\(path)"))
    }
    try await expectSame(request(.post), .data(Data(value.utf8), contentType: "text/x'y"))
    try await expectSame(request(.put, "/", [.cookie: "a=\(value)"]))
  }

  @Test func `a body of several lines, and one that looks like a file name, are sent unchanged`() async throws {
    for text in [
      "one\ntwo\r\n\tthree\n", "@/etc/passwd", "\n", "<x>", "a=b&c=d", String(repeating: "x", count: 100_000),
    ] {
      try await expectSame(request(.post), .data(Data(text.utf8), contentType: "application/x-www-form-urlencoded"))
      try await expectSame(request(.delete), .data(Data(text.utf8)))
    }
  }

  @Test func `a file is named, and what is neither text nor a file comes from the standard input`() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("in the file\n", to: "it's a $file.txt")
    try await expectSame(request(.post), .file(file))
    try await expectSame(request(.put), .file(folder.write(Data(repeating: 7, count: 2_000_000), to: "big.bin")))
    for data in [Data([0]), Data([0xff]), Data("\u{1b}[2J".utf8), Data(repeating: 0x61, count: 200_000)] {
      #expect(request(.post).cURLDescription(body: .data(data)).contains("--data-binary @-"))
    }
    let text = String(repeating: "long ", count: 40_000)
    try await expectSame(request(.post), .data(Data(text.utf8)), input: text)
    let compressed = HTTPBody.data(Data("text".utf8)).compressed()
    let command = request(.post).cURLDescription(body: compressed)
    #expect(command.contains("--header 'Content-Encoding: gzip'") && command.contains("--data-binary @-"))
  }

  @Test func `fields that are empty, repeated or the library's own are as they are sent`() async throws {
    var fields: HTTPFields = [.userAgent: "test/1", .accept: "text/plain", .range: "bytes=0-1", .contentLength: "7"]
    let own = HTTPField.Name("X-Own")!
    fields.append(HTTPField(name: own, value: ""))
    fields.append(HTTPField(name: own, value: "two"))
    fields.append(HTTPField(name: .cookie, value: "a=1"))
    fields.append(HTTPField(name: .cookie, value: "b=2"))
    fields[.authorization] = "Bearer it's"
    try await expectSame(request(.get, "/", fields))
    try await expectSame(request(.post, "/", fields), .data(Data("x".utf8)))
  }

  @Test func `cookies of the session are those that it would send`() async throws {
    let cookies = [
      SessionCookie(name: "here", value: "it's", domain: "127.0.0.1"),
      SessionCookie(name: "deep", value: "1", domain: "127.0.0.1", path: "/a/b"),
      SessionCookie(name: "secure", value: "1", domain: "127.0.0.1", isSecure: true),
      SessionCookie(name: "other", value: "1", domain: "example.org"),
      SessionCookie(name: "late", value: "1", domain: "127.0.0.1", expires: Date(timeIntervalSince1970: 1_000)),
    ].compactMap { $0 }
    #expect(cookies.count == 5)
    for path in ["/", "/a/b", "/a/b/c?x", "/a/bc"] {
      session.store(cookies)
      let command = try await session.cURLDescription(of: request(.get, path), redacting: [])
      _ = try await session.data(for: request(.get, path))
      try Programs.run(["sh", "-c", "\(command) --silent"])
      let sent = server.requests.suffix(2).map { Set($0.values("cookie").flatMap { $0.components(separatedBy: "; ") }) }
      #expect(sent[0] == sent[1] && sent[0].contains("here=it's"), "\(path): \(sent)")
    }
  }

  @Test func `secrets are shown to those alone who ask for them`() async throws {
    let fields: HTTPFields = [
      .authorization: "Bearer secret1", .proxyAuthorization: "Basic secret2", .cookie: "id=secret3",
    ]
    let credential = HTTPCredential(user: "ali", password: "secret4", scheme: .basic)
    let cookie = try #require(SessionCookie(name: "sid", value: "secret5", domain: "127.0.0.1"))
    let hidden = request(.get, "/", fields).cURLDescription(credential: credential, cookies: [cookie])
    #expect(
      !hidden.contains("secret") && hidden.contains("ali:<redacted>") && hidden.contains("Authorization: <redacted>"))
    let shown = request(.get, "/", fields).cURLDescription(credential: credential, cookies: [cookie], redacting: [])
    for number in 1...5 { #expect(shown.contains("secret\(number)")) }
    let own = request(.get, "/", field("X-Key", "secret6")).cURLDescription(redacting: [HTTPField.Name("X-Key")!])
    #expect(!own.contains("secret"))
    try Programs.run(["sh", "-c", request().cURLDescription(credential: credential, redacting: []) + " --silent"])
    #expect(
      server.requests.last?.values("authorization") == ["Basic " + Data("ali:secret4".utf8).base64EncodedString()])
  }

  @Test func `a session's fields and credential are in its commands, for its own servers`() async throws {
    var configuration = HTTPSessionConfiguration()
    configuration.userAgent = "test/1"
    configuration.headerFields = [.accept: "text/plain", .authorization: "Bearer secret"]
    configuration.taskOptions.credential = HTTPCredential(user: "ali", password: "sesame", scheme: .basic)
    let session = try HTTPSessionManager(baseURL: server.url, configuration: configuration)
    let own = try await session.cURLDescription(of: request(.get, "/", [.accept: "a/b"]), redacting: [])
    #expect(
      own.contains("'Accept: a/b'") && own.contains("'Authorization: Bearer secret'") && own.contains("ali:sesame"))
    #expect(own.contains("'User-Agent: test/1'") && !own.contains("text/plain"))
    let other = HTTPRequest(method: .get, scheme: "http", authority: "example.org", path: "/")
    let elsewhere = try await session.cURLDescription(of: other, redacting: [])
    #expect(elsewhere.contains("'Accept: text/plain'") && !elsewhere.contains("secret") && !elsewhere.contains("ali"))
    session.invalidate()
    await session.waitUntilInvalidated()
    #expect(server.requests.isEmpty)
  }

  @Test func `a command can be read by people`() {
    let request = HTTPRequest(
      method: .post, scheme: "https", authority: "api.example.org", path: "/users?page=1",
      headerFields: [.accept: "application/json"])
    #expect(
      request.cURLDescription(body: .data(Data(#"{"name":"Ali"}"#.utf8), contentType: "application/json")) == #"""
        curl \
          --globoff \
          --header 'Accept: application/json' \
          --header User-Agent: \
          --header 'Content-Type: application/json' \
          --compressed \
          --data-raw '{"name":"Ali"}' \
          'https://api.example.org/users?page=1'
        """#)
  }
}
