import Foundation
import HTTPTypes
import NetwatchHTTPFoundation
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

private struct User: Codable, Sendable {
  var userName: String
}

private enum Route: RequestConvertible {
  case user(Int)
  case impossible

  func makeCall() throws(HTTPError) -> HTTPCall {
    switch self {
    case .user(let id): HTTPCall(.patch, "users/\(id)", body: try .json(User(userName: "ali")))
    case .impossible: throw HTTPError(.cannotEncodeRequest, "make the call")
    }
  }
}

/// Tests of the calls of a session, and of how its options and those of a call are merged.
@Suite(.timeLimit(.minutes(5))) struct CallTests {
  private let server: ScriptedServer
  private let session: HTTPSessionManager

  init() throws {
    server = try ScriptedServer.echoing()
    var configuration = HTTPSessionConfiguration()
    configuration.taskOptions.maximumBytesInMemory = 1_000
    session = try HTTPSessionManager(baseURL: server.url.appending(path: "v1"), configuration: configuration)
  }

  private func echo(_ data: Data) throws -> Echo { try JSONDecoder().decode(Echo.self, from: data) }

  // MARK: Paths

  @Test func `every kind of awaited request knows paths relative to the base`() async throws {
    let folder = try TemporaryFolder()
    #expect(try await echo(session.data(for: "a?b=1").value) == Echo(method: "GET", path: "/v1/a?b=1"))
    let upload = try await echo(session.upload(.text("hello"), with: "b").value)
    #expect(upload == Echo(method: "POST", path: "/v1/b", type: "text/plain; charset=utf-8", body: "hello"))
    _ = try await session.download("c", to: .file(folder.url("c")))
    #expect(try echo(Data(contentsOf: folder.url("c"))).path == "/v1/c")
    _ = try await session.resumableDownload("d", to: folder.url("d"))
    #expect(try echo(Data(contentsOf: folder.url("d"))).path == "/v1/d")
    var body = Data()
    for try await part in try await session.stream("e").body { body += part }
    #expect(try echo(body).path == "/v1/e")
    let places: [any RequestConvertible] = [
      "f", server.url.appending(path: "g"), HTTPCall(.delete, "h"), Route.user(1),
    ]
    let replies = try await session.batch(places).map { try echo($0.get().value) }
    #expect(replies.map(\.path) == ["/v1/f", "/g", "/v1/h", "/v1/users/1"])
    #expect(replies.map(\.method) == ["GET", "GET", "DELETE", "PATCH"])
    let downloader = Downloader(session: session, as: HTTPResponseSerializer())
    #expect(try await echo(downloader.value(for: "i").value).path == "/v1/i")
  }

  @Test func `every kind of task knows paths relative to the base`() async throws {
    let folder = try TemporaryFolder()
    let paths = Box<[String]>([])
    let note: @Sendable (Result<HTTPReply<Data>, HTTPError>) -> Void = { result in
      paths.change { $0.append((try? result.get().request.path) ?? "failed") }
    }
    session.dataTask("a", completion: note).resume()
    session.uploadTask("b", from: .text("x"), completion: note).resume()
    session.downloadTask("c", to: .file(folder.url("c"))) { note($0.map { $0.with(Data()) }) }.resume()
    session.resumableDownload("d", to: folder.url("d")) { note($0.map { $0.with(Data()) }) }.resume()
    session.send("e", as: HTTPResponseSerializer(), completion: note)
    #expect(
      try await eventually(paths.now) { $0.count == 5 }.sorted() == "abcde".map { "/v1/\($0)" })
  }

  @Test func `a request without an authority is relative, and a whole one is sent as it is`() async throws {
    var relative = HTTPRequest(method: .put, scheme: nil, authority: nil, path: "users/1")
    relative.headerFields[.contentType] = "text/x"
    #expect(
      try await echo(session.data(for: relative, body: .text("x")).value)
        == Echo(method: "PUT", path: "/v1/users/1", type: "text/x", body: "x"))
    var call = HTTPCall(try HTTPRequest(.get, to: server.url.appending(path: "whole")))
    #expect(try await echo(session.data(for: call).value) == Echo(method: "GET", path: "/whole"))
    call.parameters = ["a": 1]
    (call.method, call.path) = (.delete, "/other")
    #expect(try await echo(session.data(for: call).value) == Echo(method: "DELETE", path: "/other?a=1"))
  }

  @Test func `a task without a place fails when it is begun, and is never active`() async throws {
    let observer = RecordingObserver()
    let session = try HTTPSessionManager(observer: observer)
    let kinds = Box<[HTTPError.Kind]>([])
    let task = session.dataTask("nowhere") { result in
      if case .failure(let error) = result { kinds.change { $0.append(error.kind) } }
    }
    #expect(task.state == .suspended)
    task.resume()
    #expect(try await eventually(kinds.now) { !$0.isEmpty } == [.badURL])
    let error = await #expect(throws: HTTPError.self) { try await session.data(for: Route.impossible) }
    #expect(error?.kind == .cannotEncodeRequest)
    let download = Downloader(session: session, as: HTTPResponseSerializer())
    #expect(await #expect(throws: HTTPError.self) { try await download.value(for: "nowhere") }?.kind == .badURL)
    #expect(observer.all.isEmpty)
  }

  // MARK: Bodies and values

  @Test func `a Codable POST is one statement`() async throws {
    let echo: Echo = try await session.post("users", body: .json(User(userName: "ali")))
    #expect(
      echo == Echo(method: "POST", path: "/v1/users", type: "application/json", body: #"{"userName":"ali"}"#))
    let form: Echo = try await session.put("users", body: .form(User(userName: "a&b")))
    #expect(form.type == "application/x-www-form-urlencoded" && form.body == "userName=a%26b")
    let both: Echo = try await session.patch("users", parameters: ["q": 1], body: .text("x"))
    #expect(both.path == "/v1/users?q=1" && both.body == "x")
    let query: Echo = try await session.get("users", parameters: .encoding(User(userName: "ali")))
    #expect(query.path == "/v1/users?userName=ali")
  }

  @Test func `send takes a body and a serializer, or a type`() async throws {
    let typed = try await session.send("users", body: .text("x"), as: Echo.self)
    #expect(typed.value.method == "POST" && typed.response.status == .ok)
    let tree = try await session.send(Route.user(2), as: JSONResponseSerializer())
    #expect(tree.value?["body"]?.string == #"{"userName":"ali"}"#)
    let plain = try await session.send(HTTPCall(.delete, "users"))
    #expect(try echo(plain.value as? Data ?? Data()).method == "DELETE")
  }

  @Test func `a session has a serializer and a decoder for all of its calls`() async throws {
    struct Snake: Decodable, Sendable { var pa_th: String? }
    var configuration = HTTPSessionConfiguration()
    configuration.responseSerializer = JSONResponseSerializer()
    configuration.decoder = PropertyListDecoder()
    let session = try HTTPSessionManager(baseURL: server.url, configuration: configuration)
    let tree = try await session.send("x").value as? StructuredValue
    #expect(tree?["path"] == "/x")
    let echo: Echo = try await session.get("plist")
    #expect(echo.path == "/plist")
    let other = try await session.get("x", as: Echo.self, decoder: JSONDecoder())
    #expect(other.path == "/x")
    await #expect(throws: HTTPError.self) { let _: Echo = try await session.get("x") }
  }

  // MARK: Options

  @Test func `a call's options change what they set, and keep the session's rest`() async throws {
    var options = HTTPTaskOptions()
    options.timeout = .seconds(30)
    // The session's limit holds, although the call has options of its own.
    let error = await #expect(throws: HTTPError.self) {
      try await session.send(
        HTTPCall(.post, "long", options: options), body: .text(String(repeating: "x", count: 2_000)), as: Echo.self)
    }
    #expect(error?.kind == .responseTooLarge)
    let call = HTTPCall(.post, "long", options: .with { $0.maximumBytesInMemory = 10 })
    #expect(await #expect(throws: HTTPError.self) { try await session.send(call) }?.kind == .responseTooLarge)
    // The options that are given last win.
    let long = try await session.send(
      call, body: .text(String(repeating: "x", count: 2_000)), options: .with { $0.maximumBytesInMemory = 10_000 },
      as: Echo.self)
    #expect(long.value.body.count == 2_000)
  }

  @Test func `each option that is set wins, also one that is set to nil or to its default`() {
    var session = HTTPTaskOptions()
    session.timeout = .seconds(1)
    session.totalTimeout = .seconds(2)
    session.maximumResponseBytes = 3
    session.maximumBytesInMemory = 4
    session.flushesFiles = true
    session.maximumHeadBytes = 10
    session.acceptsMissingCloseNotify = true
    session.isIndicated = false
    session.maximumRedirects = 5
    session.onRedirect = { $0.next }
    session.credential = HTTPCredential(user: "u", password: "p")
    session.onChallenge = { _ in nil }
    session.maximumChallenges = 6
    session.reachabilityTimeout = .seconds(7)
    session.retriesWhenReachable = true
    session.allowsRepetition = true
    session.onProgress = { _ in }
    session.progressInterval = .seconds(8)
    session.executor = .immediate
    session.label = "label"
    session.interceptors = [RetryInterceptor()]
    session.maximumRetries = 9
    session.cachePolicy = .prefersCache
    session.onCaching = { $1 }
    session.requiredMedia = [.wifi]
    session.allowsExpensivePath = false
    func text(_ options: HTTPTaskOptions) -> [String] {
      Mirror(reflecting: options.values).children.filter { $0.label != "names" }.map { child in
        let text = "\(child.value)"
        return "\(child.label ?? "") \(text.contains("Function") ? "function" : text)"
      }
    }
    #expect(text(session.merged(with: HTTPTaskOptions())) == text(session))
    #expect(text(HTTPTaskOptions().merged(with: session)) == text(session))
    let named = HTTPTaskOptions.with { options in
      let plain = HTTPTaskOptions()
      (options.timeout, options.totalTimeout) = (plain.timeout, nil)
      options.onProgress = nil
      options.isIndicated = true
    }
    let merged = session.merged(with: named)
    #expect(merged.timeout == .seconds(60) && merged.totalTimeout == nil && merged.onProgress == nil)
    #expect(merged.isIndicated && merged.maximumRedirects == 5 && merged.credential?.user == "u")
    // Every option differs from its default, so the changes above have left out none.
    #expect(zip(text(session), text(HTTPTaskOptions())).allSatisfy { $0 != $1 })
  }
}
