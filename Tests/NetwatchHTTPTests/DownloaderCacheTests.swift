import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of which requests a downloader's cache answers, and of what the downloader sends to servers.
@Suite(.timeLimit(.minutes(5))) struct DownloaderCacheTests {
  private typealias DataDownloader = Downloader<HTTPResponseSerializer>

  /// A server that chooses its answer by the path. Each answer except the redirect has an entity tag.
  private let server: HeadServer
  private let session: HTTPSessionManager

  init() throws {
    server = try HeadServer { head in
      let fields = "\r\nETag: \"1\"\r\nCache-Control: "
      let path = head.split(separator: " ").dropFirst().first ?? ""
      return switch path {
      case "/moved": "302 Found\r\nLocation: /target"
      case "/private": "200 OK\(fields)private, max-age=100"
      case "/public": "200 OK\(fields)public, max-age=100"
      case "/varies": "200 OK\(fields)public, max-age=100\r\nVary: Accept-Language"
      case "/stale": head.contains("If-None-Match") ? "304 Not Modified\(fields)max-age=0" : "200 OK\(fields)max-age=0"
      default: "200 OK\(fields)max-age=100"
      }
    }
    session = try HTTPSessionManager()
  }

  private func downloader(
    _ session: HTTPSessionManager? = nil, _ cache: DataDownloader.Cache = .init(), options: HTTPTaskOptions = .init(),
    clock: Box<Duration> = Box(.zero)
  ) -> DataDownloader {
    DataDownloader(
      session: session ?? self.session, as: HTTPResponseSerializer(), limit: 4, order: .firstInFirstOut, cache: cache,
      options: options, now: { clock.now })
  }

  private func request(_ path: String, _ control: String? = nil, in field: String = "Cache-Control") throws
    -> HTTPRequest
  {
    var request = try HTTPRequest(.get, to: server.url(path))
    if let name = HTTPField.Name(field) { request.headerFields[name] = control }
    return request
  }

  private var paths: [String] { server.heads.map { String($0.split(separator: " ")[1]) } }

  // MARK: Redirects

  @Test func `what is behind a redirect is not kept under the URL that leads to it`() async throws {
    let downloader = downloader()
    for _ in 0..<2 { _ = try await downloader.value(for: request("moved")) }
    #expect(paths == ["/moved", "/target", "/moved", "/target"])
    #expect(downloader.cache.value(for: CachedResource(try request("moved"))) == nil)
  }

  @Test func `a validator goes to no other URL, and another URL's 304 confirms nothing`() async throws {
    let hasMoved = Box(false)
    let server = try HeadServer { head in
      if head.contains("If-None-Match") && head.contains("GET /new") { return "304 Not Modified\r\nETag: \"1\"" }
      if head.contains("GET /new") { return "200 OK\r\nETag: \"1\"\r\nX-Which: new" }
      return hasMoved.now ? "302 Found\r\nLocation: /new" : "200 OK\r\nETag: \"1\"\r\nX-Which: old"
    }
    let downloader = downloader()
    let request = try HTTPRequest(.get, to: server.url("old"))
    let which = try #require(HTTPField.Name("X-Which"))
    #expect(try await downloader.value(for: request).response.headerFields[which] == "old")
    hasMoved.change { $0 = true }
    #expect(try await downloader.value(for: request).response.headerFields[which] == "new")
    #expect(server.values("if-none-match") == [[], ["\"1\""], []])
    // The old answer was removed, so its validator is not sent.
    hasMoved.change { $0 = false }
    #expect(try await downloader.value(for: request).response.headerFields[which] == "old")
    #expect(server.values("if-none-match").last == [])
  }

  @Test func `a callback for redirects is still asked, and sees no validators`() async throws {
    let server = try HeadServer {
      $0.contains("/old") && $0.contains("If-None") ? "302 Found\r\nLocation: /new" : "200 OK\r\nETag: \"1\""
    }
    let seen = Box<[String?]>([])
    var options = HTTPTaskOptions()
    options.onRedirect = { redirect in
      seen.change { $0.append(redirect.next.headerFields[.ifNoneMatch]) }
      return redirect.next
    }
    let downloader = downloader(options: options)
    for _ in 0..<2 { _ = try await downloader.value(for: HTTPRequest(.get, to: server.url("old"))) }
    #expect(seen.now == [nil])
    #expect(server.values("if-none-match") == [[], ["\"1\""], []])
  }

  // MARK: Requests with cache directives

  @Test(arguments: [
    ("Cache-Control", "no-cache"), ("Cache-Control", "max-age=0"), ("Cache-Control", "no-store"),
    ("Pragma", "no-cache"),
    ("Cache-Control", "max-age=5"),
  ])
  func `a request that wants no kept answer has none`(_ field: String, _ value: String) async throws {
    let clock = Box(Duration.zero)
    let downloader = downloader(clock: clock)
    _ = try await downloader.value(for: request("a"))
    clock.change { $0 = .seconds(10) }
    let wish = try request("a", value, in: field)
    for policy in [HTTPCachePolicy.standard, .standard, .prefersCache] {
      _ = try await downloader.value(for: wish, policy: policy)
      clock.change { $0 += .seconds(10) }
    }
    #expect(paths.count == 4)
    // The answer that the server has given to these requests is fresh for requests without directives.
    _ = try await downloader.value(for: request("a"))
    #expect(paths.count == 4)
    _ = try await downloader.value(for: request("a", "max-age=1000"))
    #expect(paths.count == 4)
  }

  @Test func `a policy may always ask the server, or never`() async throws {
    let clock = Box(Duration.zero)
    let downloader = downloader(clock: clock)
    let error = await #expect(throws: HTTPError.self) {
      try await downloader.value(for: request("stale"), policy: .requiresCache)
    }
    #expect(error?.kind == .badServerResponse)
    #expect(error?.response?.status == .gatewayTimeout)
    #expect(paths.isEmpty)
    _ = try await downloader.value(for: request("stale"))
    clock.change { $0 = .seconds(1_000) }
    _ = try await downloader.value(for: request("stale"), policy: .requiresCache)
    #expect(paths.count == 1)
    _ = try await downloader.value(for: request("a"))
    _ = try await downloader.value(for: request("a"), policy: .revalidates)
    #expect(paths.count == 3)
    #expect(server.values("if-none-match").filter { !$0.isEmpty } == [["\"1\""]])
  }

  @Test func `a request that wants no kept answer does not wait for one that does`() async throws {
    let gate = Gate()
    let server = try HeadServer { _ in
      gate.pass()
      return nil
    }
    let downloader = downloader()
    let plain = try HTTPRequest(.get, to: server.url())
    var wish = plain
    wish.headerFields[.cacheControl] = "no-cache"
    let ends = Box(0)
    for request in [plain, wish, plain, wish] { downloader.download(request) { _ in ends.change { $0 += 1 } } }
    #expect(downloader.activeCount == 2)
    gate.open()
    try await eventually(ends.now) { $0 == 4 }
    #expect(server.values("cache-control").map(\.count).sorted() == [0, 1])
  }

  // MARK: Private and public answers

  private func sessions() throws -> [HTTPSessionManager] {
    try ["one", "two"].map { name in
      var configuration = HTTPSessionConfiguration()
      configuration.headerFields[.authorization] = name
      return try HTTPSessionManager(configuration: configuration)
    }
  }

  @Test(arguments: ["private", "a", "varies"])
  func `sessions with other credentials do not share answers`(_ path: String) async throws {
    let cache = DataDownloader.Cache()
    let downloaders = try sessions().map { downloader($0, cache) }
    for downloader in downloaders {
      for policy in [HTTPCachePolicy.standard, .prefersCache] {
        _ = try await downloader.value(for: request(path), policy: policy)
      }
    }
    #expect(server.values("authorization") == [["one"], ["two"]])
    #expect(server.values("if-none-match") == [[], []])
  }

  @Test func `downloaders of one session with other credentials do not share answers`() async throws {
    let cache = DataDownloader.Cache()
    for name in ["one", "two"] {
      var options = HTTPTaskOptions()
      options.credential = HTTPCredential(user: name, password: "", scheme: .basic)
      _ = try await downloader(nil, cache, options: options).value(for: request("a"))
    }
    #expect(Set(server.values("authorization")).count == 2)
  }

  @Test func `what interceptors may have added is not shared`() async throws {
    let cache = DataDownloader.Cache()
    var configuration = HTTPSessionConfiguration()
    configuration.handlesCookies = false
    for name in ["one", "two"] {
      configuration.interceptors = [Authorizer(name)]
      let session = try HTTPSessionManager(configuration: configuration)
      for _ in 0..<2 { _ = try await downloader(session, cache).value(for: request("a")) }
    }
    configuration.interceptors = []
    let session = try HTTPSessionManager(configuration: configuration)
    for name in ["three", "four"] {
      var options = HTTPTaskOptions()
      options.interceptors = [Authorizer(name)]
      _ = try await downloader(session, cache, options: options).value(for: request("a"))
    }
    #expect(server.values("authorization") == [["one"], ["two"], ["three"], ["four"]])
  }

  @Test func `nor is what a session's own fields may have led to`() async throws {
    let cache = DataDownloader.Cache()
    let key = try #require(HTTPField.Name("X-Api-Key"))
    for name in ["one", "two"] {
      var configuration = HTTPSessionConfiguration()
      configuration.handlesCookies = false
      configuration.headerFields[key] = name
      let session = try HTTPSessionManager(configuration: configuration)
      for _ in 0..<2 { _ = try await downloader(session, cache).value(for: request("a")) }
    }
    #expect(server.values("x-api-key") == [["one"], ["two"]])
  }

  private struct Authorizer: RequestInterceptor {
    let name: String

    init(_ name: String) { self.name = name }

    func adapt(_ request: HTTPRequest, for task: HTTPTaskInfo) -> HTTPRequest {
      var request = request
      request.headerFields[.authorization] = name
      return request
    }
  }

  @Test func `what is for everybody is shared, and a session's own by all of its downloaders`() async throws {
    let cache = DataDownloader.Cache()
    for session in try sessions() { _ = try await downloader(session, cache).value(for: request("public")) }
    for _ in 0..<2 { _ = try await downloader(nil, cache).value(for: request("private")) }
    #expect(paths == ["/public", "/private"])
  }

  // MARK: The app's own values and caches

  @Test func `a value of one's own takes the server's place, until its time is over`() async throws {
    let cache = DataDownloader.Cache()
    let downloader = Downloader(session: session, as: HTTPResponseSerializer(), cache: cache)
    let request = try request("a")
    cache.insert(CachedReply(Data("mine".utf8), to: request), for: CachedResource(request))
    #expect(try await downloader.value(for: request).value == Data("mine".utf8))
    #expect(paths == [])
    cache.insert(CachedReply(Data("mine".utf8), to: request, lifetime: .zero), for: CachedResource(request))
    #expect(try await downloader.value(for: request).value != Data("mine".utf8))
    #expect(paths == ["/a"])
  }

  @Test func `what was made of a reply lies beside it, and the downloader leaves it alone`() async throws {
    let cache = DataDownloader.Cache()
    let downloader = Downloader(session: session, as: HTTPResponseSerializer(), cache: cache)
    let request = try request("private")
    let small = CachedResource(request, identifier: "small")
    let whole = try await downloader.value(for: request).value
    let kept = try #require(cache.value(for: CachedResource(request)))
    cache.insert(kept.with(Data("small".utf8)), for: small)
    #expect(try await downloader.value(for: request).value == whole)
    _ = try await downloader.value(for: request, policy: .ignoresCache)
    #expect(cache.value(for: small)?.reply.value == Data("small".utf8))
    #expect(cache.value(for: small)?.owner == kept.owner)
    #expect(cache.count == 2)
  }

  @Test func `a cache of one's own decides what is kept`() async throws {
    let cache = ChoosyCache()
    let downloader = Downloader(session: session, as: HTTPResponseSerializer(), cache: cache)
    for path in ["a", "public", "a", "public"] { _ = try await downloader.value(for: request(path)) }
    #expect(paths == ["/a", "/public", "/a"])
    #expect(cache.refused.now == ["/a", "/a"])
  }

  @Test func `an image costs its bytes, if they are more than its pixels`() throws {
    // These bytes are the head of a PNG of 1 by 1 pixel, and many further bytes follow.
    var bytes: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
    bytes += [0, 0, 0, 1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0, 0, 0, 0]
    let data = Data(bytes) + Data(count: 100_000)
    #expect(EncodedImage(header: try #require(ImageHeader(data)), data: data).cacheCost == data.count)
  }
}

/// A cache that keeps only public answers.
private struct ChoosyCache: DownloadCache {
  let kept = AutoPurgingCache<CachedResource, CachedReply<Data>>()
  let refused = Box<[String]>([])

  func value(for resource: CachedResource) -> CachedReply<Data>? { kept.value(for: resource) }
  func remove(_ resource: CachedResource) -> Bool { kept.remove(resource) }

  func insert(_ value: CachedReply<Data>, for resource: CachedResource) {
    if value.reply.response.headerFields[.cacheControl]?.contains("public") ?? false {
      kept.insert(value, for: resource)
    } else {
      refused.change { $0.append(value.reply.request.path ?? "") }
    }
  }
}
