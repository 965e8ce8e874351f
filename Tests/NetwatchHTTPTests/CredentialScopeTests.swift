import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests that a session shows its credentials only to its own servers.
@Suite(.timeLimit(.minutes(5))) struct CredentialScopeTests {
  /// The server of the base URL, which redirects `/away` to the other server. The same machine with another port or
  /// another name is another origin.
  private let home: HeadServer
  private let other: HeadServer

  init() throws {
    let other = try HeadServer()
    self.other = other
    let away = other.url().absoluteString
    home = try HeadServer { head in
      head.contains("GET /away") ? "302 Found\r\nLocation: \(away)" : nil
    }
  }

  private static let secrets = [HTTPField.Name.authorization, .cookie, .proxyAuthorization]

  private var configuration: HTTPSessionConfiguration {
    var configuration = HTTPSessionConfiguration()
    for name in Self.secrets { configuration.headerFields[name] = "secret" }
    return configuration
  }

  private func secretsSeen(by server: HeadServer) -> Int { server.heads.count { $0.contains("secret") } }

  @Test func `a session's own fields go to the origin of its base alone`() async throws {
    let session = try HTTPSessionManager(baseURL: home.url(), configuration: configuration)
    _ = try await session.data(for: HTTPRequest(.get, to: home.url("a")))
    for url in [other.url(), home.url(host: "localhost")] {
      _ = try await session.data(for: HTTPRequest(.get, to: url))
    }
    _ = try await session.send(HTTPCall(.get, other.url().absoluteString), as: HTTPResponseSerializer())
    _ = try await session.data(for: HTTPRequest(.get, to: home.url("away")))
    #expect(home.values("authorization") == [["secret"], [], ["secret"]])
    #expect(home.values("cookie") == [["secret"], [], ["secret"]])
    #expect(home.values("proxy-authorization") == [["secret"], [], ["secret"]])
    #expect(other.heads.count == 3)
    #expect(secretsSeen(by: other) == 0)
  }

  @Test func `no kind of task sends the session's secrets to another origin`() async throws {
    let session = try HTTPSessionManager(baseURL: home.url(), configuration: configuration)
    let request = try HTTPRequest(.get, to: other.url())
    let folder = try TemporaryFolder()
    _ = try await session.upload(.data(Data("x".utf8)), with: HTTPRequest(.put, to: other.url()))
    _ = try await session.download(request, to: .file(folder.url("a")))
    _ = try await session.resumableDownload(request, to: folder.url("b"))
    for try await _ in try await session.stream(request).body {}
    _ = await session.batch([request])
    _ = try await Downloader(session: session, as: HTTPResponseSerializer()).value(for: request)
    #expect(other.heads.count == 6)
    #expect(secretsSeen(by: other) == 0)
  }

  @Test func `basic authorization of the serializer goes to the base alone, and a call's own where it is sent`()
    async throws
  {
    var serializer = HTTPRequestSerializer()
    try serializer.setBasicAuthorization(user: "ali", password: "open sesame")
    var configuration = HTTPSessionConfiguration()
    configuration.requestSerializer = serializer
    let session = try HTTPSessionManager(baseURL: home.url(), configuration: configuration)
    let call = HTTPCall(.get, other.url().absoluteString)
    _ = try await session.send(HTTPCall(.get, "a"), as: HTTPResponseSerializer())
    _ = try await session.send(call, as: HTTPResponseSerializer())
    var own = call
    own.headerFields[.authorization] = "Bearer own"
    _ = try await session.send(own, as: HTTPResponseSerializer())
    await withCheckedContinuation { continuation in
      _ = session.send(call, as: HTTPResponseSerializer()) { _ in continuation.resume() }
    }
    #expect(home.values("authorization") == [["Basic YWxpOm9wZW4gc2VzYW1l"]])
    #expect(other.values("authorization") == [[], ["Bearer own"], []])
  }

  @Test func `a session's credential goes to its base alone, and a task's own to the task's origin`() async throws {
    var configuration = HTTPSessionConfiguration()
    configuration.taskOptions.credential = HTTPCredential(user: "ali", password: "open sesame", scheme: .basic)
    let session = try HTTPSessionManager(baseURL: home.url(), configuration: configuration)
    _ = try await session.data(for: HTTPRequest(.get, to: home.url()))
    _ = try await session.data(for: HTTPRequest(.get, to: other.url()))
    // Options that are copied from the session contain its credential, which still goes only to the base.
    var options = session.configuration.taskOptions
    options.timeout = .seconds(30)
    _ = try await session.data(for: HTTPRequest(.get, to: other.url()), options: options)
    options.credential = HTTPCredential(user: "own", password: "", scheme: .basic)
    _ = try await session.data(for: HTTPRequest(.get, to: other.url()), options: options)
    #expect(home.values("authorization") == [["Basic YWxpOm9wZW4gc2VzYW1l"]])
    #expect(other.values("authorization") == [[], [], ["Basic b3duOg=="]])
  }

  @Test func `origins that the caller names have them as well, also after a redirect`() async throws {
    var configuration = configuration
    configuration.credentialOrigins = [other.url("some/path")]
    configuration.taskOptions.credential = HTTPCredential(user: "ali", password: "x", scheme: .basic)
    configuration.headerFields[.authorization] = nil
    let session = try HTTPSessionManager(baseURL: home.url(), configuration: configuration)
    _ = try await session.data(for: HTTPRequest(.get, to: other.url()))
    _ = try await session.data(for: HTTPRequest(.get, to: home.url("away")))
    _ = try await session.data(for: HTTPRequest(.get, to: other.url(host: "localhost")))
    #expect(other.values("cookie") == [["secret"], ["secret"], []])
    #expect(other.values("authorization") == [["Basic YWxpOng="], ["Basic YWxpOng="], []])
    // A field that the caller sets for one request goes only to the origin of that request.
    let own: HTTPFields = [.cookie: "own"]
    _ = try await session.data(for: HTTPRequest(.get, to: home.url("away"), headerFields: own))
    #expect(home.values("cookie").last == ["own"])
    #expect(other.values("cookie").last == [])
  }

  @Test func `without a base they go to the origin of each task, and not on with a redirect`() async throws {
    let session = try HTTPSessionManager(configuration: configuration)
    _ = try await session.data(for: HTTPRequest(.get, to: home.url("away")))
    #expect(home.values("authorization") == [["secret"]])
    #expect(other.values("authorization") == [[]])
    _ = try await session.data(for: HTTPRequest(.get, to: other.url()))
    #expect(other.values("authorization") == [[], ["secret"]])
  }

  @Test func `a base with its port, and without, is one origin`() throws {
    func request(_ url: String) throws -> HTTPRequest { try HTTPRequest(.get, to: URL(string: url)!) }
    let scope = try CredentialScope(URL(string: "https://API.example/v1/"), HTTPSessionConfiguration())
    for url in ["https://api.example", "https://api.example:443/a", "https://aPi.example/?b"] {
      #expect(try scope.covers(request(url)), "\(url)")
    }
    for url in [
      "http://api.example", "https://api.example:444", "https://api.example.evil.org", "https://evil.org/api.example",
      "https://api.example@evil.org", "https://api.example%40evil.org", "https://api.example.", "https://[::1]",
      "http://api.example:443",
    ] {
      let request = try? request(url)
      #expect(request.map { scope.covers($0) } ?? false == false, "\(url)")
    }
    for authority in [
      "api.example@evil.org", "evil.org#@api.example", "evil.org/@api.example", "evil.org\\api.example", "",
    ] {
      let request = HTTPRequest(method: .get, scheme: "https", authority: authority, path: "/")
      #expect(!scope.covers(request) && request.urlText == nil, "\(authority)")
    }
  }

  @Test func `two configured fields of one name are both sent`() async throws {
    let name = try #require(HTTPField.Name("X-Many"))
    var configuration = HTTPSessionConfiguration()
    configuration.headerFields.append(HTTPField(name: name, value: "one"))
    configuration.headerFields.append(HTTPField(name: name, value: "two"))
    let session = try HTTPSessionManager(configuration: configuration)
    _ = try await session.data(for: HTTPRequest(.get, to: home.url()))
    _ = try await session.data(for: HTTPRequest(.get, to: home.url(), headerFields: [name: "own"]))
    #expect(home.values("x-many") == [["one", "two"], ["own"]])
  }

  @Test func `a callback that sends a redirect elsewhere sends no credentials along but those that it adds`()
    async throws
  {
    let home = try HeadServer { $0.contains("GET /a ") ? "302 Found\r\nLocation: /b" : nil }
    let session = try HTTPSessionManager()
    let fields: HTTPFields = [.authorization: "secret", .cookie: "secret"]
    var options = HTTPTaskOptions()
    options.onRedirect = { [other] redirect in
      var next = redirect.next
      next.authority = "127.0.0.1:\(other.server.port)"
      next.headerFields[.cookie] = "added"
      return next
    }
    _ = try await session.data(for: HTTPRequest(.get, to: home.url("a"), headerFields: fields), options: options)
    #expect(other.values("authorization") == [[]])
    #expect(other.values("cookie") == [["added"]])
  }
}
