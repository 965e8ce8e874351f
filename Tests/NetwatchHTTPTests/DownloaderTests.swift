import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite(.timeLimit(.minutes(5))) struct DownloaderTests {
  private typealias DataDownloader = Downloader<HTTPResponseSerializer>

  private let server: NginxServer
  private let session: HTTPSessionManager

  init() throws {
    server = try NginxServer(
      server: """
        location /slow/ { alias files/; limit_rate 10k; }
        location /drip/ { alias files/; limit_rate 100; }
        location /fresh/ { alias files/; add_header Cache-Control max-age=100; }
        location /never/ { alias files/; add_header Cache-Control no-store; }
        location /tagless/ { alias files/; etag off; if_modified_since exact; }
        """)
    session = try HTTPSessionManager(baseURL: server.url)
    try server.serve("hello", as: "hello.txt")
    try server.serve(String(repeating: "x", count: 20_000), as: "large.txt")
  }

  private func request(_ path: String, _ fields: HTTPFields = [:]) throws -> HTTPRequest {
    try HTTPRequest(.get, to: session.url(for: path), headerFields: fields)
  }

  private func downloader(limit: Int = 4, cache: DataDownloader.Cache = .init(), clock: Box<Duration> = Box(.zero))
    -> DataDownloader
  {
    DataDownloader(
      session: session, as: HTTPResponseSerializer(), limit: limit, order: .firstInFirstOut, cache: cache,
      options: .init(), now: { clock.now })
  }

  private func statuses(_ count: Int) async throws -> [String] {
    try await server.log(lines: count).map { String($0.split(separator: " ")[2]) }
  }

  @Test func `requests that are equal are made once`() async throws {
    let downloader = downloader()
    let request = try request("slow/large.txt")
    let sizes = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<20 { group.addTask { try await downloader.value(for: request).value.count } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(sizes == Array(repeating: 20_000, count: 20))
    #expect(try await server.log(lines: 1).count == 1)
  }

  @Test func `a fresh response is used again, then the server is asked whether it still may be`() async throws {
    let clock = Box(Duration.zero)
    let downloader = downloader(clock: clock)
    let request = try request("fresh/hello.txt")
    for _ in 0..<3 { #expect(try await downloader.value(for: request).value == Data("hello".utf8)) }
    clock.change { $0 = .seconds(101) }
    let reply = try await downloader.value(for: request)
    #expect(reply.value == Data("hello".utf8))
    #expect(reply.response.status == .ok)
    // The 304 has made the response fresh again.
    _ = try await downloader.value(for: request)
    _ = try await downloader.value(for: request, policy: .ignoresCache)
    #expect(try await statuses(3) == ["200", "304", "200"])
  }

  @Test(arguments: ["hello.txt", "tagless/hello.txt"])
  func `without a word about time the server is asked each time, and a changed file is seen`(
    _ path: String
  ) async throws {
    let downloader = downloader()
    let request = try request(path)
    for _ in 0..<2 { #expect(try await downloader.value(for: request).value == Data("hello".utf8)) }
    #expect(try await downloader.value(for: request, policy: .prefersCache).value == Data("hello".utf8))
    try server.serve("changed", as: "hello.txt")
    let old = Date(timeIntervalSince1970: 1_000_000_000)
    try FileManager.default.setAttributes(
      [.modificationDate: old], ofItemAtPath: server.folder.url("files/hello.txt").path)
    #expect(try await downloader.value(for: request).value == Data("changed".utf8))
    #expect(try await statuses(3) == ["200", "304", "200"])
  }

  @Test func `what may not be stored is not, and other fields are another resource`() async throws {
    let cache = DataDownloader.Cache()
    let downloader = downloader(cache: cache)
    for _ in 0..<2 { _ = try await downloader.value(for: request("never/hello.txt")) }
    for text in ["a", "b"] { _ = try await downloader.value(for: request("fresh/hello.txt", [.accept: text])) }
    #expect(try await statuses(4) == Array(repeating: "200", count: 4))
    #expect(cache.count == 2)
  }

  @Test func `a failure is one for all who wait, and is not kept`() async throws {
    let cache = DataDownloader.Cache()
    let downloader = downloader(cache: cache)
    for _ in 0..<2 {
      let error = await #expect(throws: HTTPError.self) { try await downloader.value(for: request("missing")) }
      #expect(error?.kind == .badServerResponse)
    }
    #expect(cache.count == 0)
    #expect(try await server.log(lines: 2).count == 2)
  }

  @Test func `a cancelled receipt ends alone, the last one ends the transfer`() async throws {
    let cache = DataDownloader.Cache()
    let downloader = downloader(cache: cache)
    let ends = Box<[String]>([])
    let request = try request("drip/large.txt")
    let receipts = (0..<3).map { index in
      downloader.download(request) { result in
        ends.change { $0.append("\(index) \((try? result.get()) == nil ? "failed" : "came")") }
      }
    }
    downloader.cancel(receipts[1])
    #expect(try await eventually(ends.now) { !$0.isEmpty } == ["1 failed"])
    downloader.cancel(receipts[1])
    #expect(downloader.activeCount == 1)
    downloader.cancel(receipts[0])
    downloader.cancel(receipts[2])
    #expect(try await eventually(ends.now) { $0.count == 3 } == ["1 failed", "0 failed", "2 failed"])
    try await eventually(downloader.activeCount) { $0 == 0 }
    #expect(cache.count == 0)
  }

  @Test func `an awaiting task that is cancelled gives its receipt back`() async throws {
    let downloader = downloader()
    let request = try request("drip/large.txt")
    let waiting = Task { try await downloader.value(for: request) }
    try await eventually(downloader.activeCount) { $0 == 1 }
    waiting.cancel()
    let error = await #expect(throws: HTTPError.self) { try await waiting.value }
    #expect(error?.kind == .cancelled)
    try await eventually(downloader.activeCount) { $0 == 0 }
  }

  @Test func `1,000 receipts on 50 URLs with random cancels are answered once each`() async throws {
    let downloader = downloader(limit: 4)
    let answers = Box([Int](repeating: 0, count: 1_000))
    var random = SplitMix(seed: 3)
    for index in 0..<1_000 {
      let path = "\(random.oneIn(4) ? "missing" : "arguments")?\(Int.random(in: 0..<50, using: &random))"
      let receipt = downloader.download(try request(path)) { _ in answers.change { $0[index] += 1 } }
      if random.oneIn(3) { downloader.cancel(receipt) }
      if random.oneIn(20) { _ = await session.tasks() }
      #expect(downloader.activeCount <= 4)
    }
    try await eventually(answers.now.allSatisfy { $0 > 0 }) { $0 }
    try await eventually(downloader.activeCount) { $0 == 0 }
    session.invalidate()
    await session.waitUntilInvalidated()
    #expect(answers.now.allSatisfy { $0 == 1 })
  }

  @Test func `the server never sees more requests at once than are allowed`() async throws {
    let server = try GateServer(isOpen: false)
    var configuration = HTTPSessionConfiguration()
    configuration.maximumConnectionsPerHost = 50
    let session = try HTTPSessionManager(baseURL: server.url, configuration: configuration)
    let downloader = Downloader(session: session, as: HTTPResponseSerializer(), limit: 3, order: .lastInFirstOut)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<200 {
        let request = try HTTPRequest(.get, to: session.url(for: "\(index)"))
        group.addTask { _ = try await downloader.value(for: request) }
      }
      // When the first three requests were sent, all others wait.
      try await server.waits(for: 3)
      server.open()
      try await group.waitForAll()
    }
    #expect(server.now.mostRequests == 3)
    #expect(server.now.heads.count == 200)
  }

  @Test func `images are kept by what they take when they are decoded`() async throws {
    var bytes: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
    bytes += [0, 0, 1, 44, 0, 0, 0, 200, 8, 6, 0, 0, 0, 0, 0, 0, 0]
    try server.serve(Data(bytes), as: "dot.png")
    let cache = Downloader<ImageResponseSerializer>.Cache()
    let downloader = Downloader(session: session, as: ImageResponseSerializer(), cache: cache)
    #expect(try await downloader.value(for: request("dot.png")).value.header.width == 300)
    #expect(cache.usage == 240_000)
  }

  @Test func `a downloader ends with its session, and before it is done`() async throws {
    let downloader = downloader(limit: 2)
    let ends = Box(0)
    for index in 0..<20 {
      downloader.download(try request("drip/large.txt?\(index)")) { _ in ends.change { $0 += 1 } }
    }
    session.invalidate()
    await session.waitUntilInvalidated()
    #expect(ends.now == 20)
  }
}
