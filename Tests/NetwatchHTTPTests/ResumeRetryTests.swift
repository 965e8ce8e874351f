import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of resumable downloads whose interceptors want another attempt.
@Suite(.timeLimit(.minutes(5))) struct ResumeRetryTests {
  private let folder: TemporaryFolder
  private let session: HTTPSessionManager
  private let target: URL
  private static let old = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 41) })
  private static let changed = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"

  init() throws {
    folder = try TemporaryFolder()
    session = try HTTPSessionManager()
    target = folder.url("here.bin")
  }

  private var names: [String] { (try? folder.names) ?? [] }

  /// Returns options that retry a request at most `limit` times. Default: 2, without a delay.
  private static func retrying(_ limit: Int = 2, delay: Duration = .zero) -> HTTPTaskOptions {
    var interceptor = RetryInterceptor()
    (interceptor.limit, interceptor.delay, interceptor.jitter) = (limit, delay, 0)
    return .with { $0.interceptors = [interceptor] }
  }

  @Test(arguments: ["ETag: \"1\"\r\n", changed, ""])
  func `with an interceptor a download goes on where its body broke off`(_ validators: String) async throws {
    let server = try PartServer(PartServer.Behaviour(content: Self.old, validators: validators, cut: 100_000))
    server.change { $0.cuts = 2 }
    let reply = try await session.resumableDownload(
      HTTPRequest(.get, to: server.url), to: target, options: Self.retrying())
    #expect(reply.response.status.code == (validators.isEmpty ? 200 : 206))
    #expect(try Data(contentsOf: target) == Self.old)
    #expect(
      server.fields("range") == (validators.isEmpty ? [nil, nil, nil] : [nil, "bytes=100000-", "bytes=200000-"]))
    #expect(names == ["here.bin"])
  }

  @Test func `the interceptors of a session are asked as well, and a busy server in between is waited for`()
    async throws
  {
    var configuration = HTTPSessionConfiguration()
    configuration.taskOptions = Self.retrying()
    configuration.interceptors = configuration.taskOptions.interceptors
    configuration.taskOptions = .init()
    let session = try HTTPSessionManager(configuration: configuration)
    let server = try PartServer(PartServer.Behaviour(content: Self.old, cut: 100_000))
    server.change { ($0.cuts, $0.busy) = (1, 1) }
    _ = try await session.resumableDownload(HTTPRequest(.get, to: server.url), to: target)
    #expect(try Data(contentsOf: target) == Self.old)
    #expect(server.fields("range") == [nil, "bytes=100000-", "bytes=100000-"])
  }

  @Test func `a download that breaks off too often fails, and keeps what has come`() async throws {
    let server = try PartServer(PartServer.Behaviour(content: Self.old, cut: 50_000))
    let error = await #expect(throws: HTTPError.self) {
      try await session.resumableDownload(HTTPRequest(.get, to: server.url), to: target, options: Self.retrying(3))
    }
    #expect(error?.kind == .connectionLost)
    #expect(server.fields("range").count == 4)
    #expect(try Data(contentsOf: folder.url("here.bin.netwatch-part")) == Self.old.prefix(200_000))
  }

  @Test(arguments: [true, false]) func `a download that waits for its next attempt can be paused and cancelled`(
    _ isPaused: Bool
  ) async throws {
    let server = try PartServer(PartServer.Behaviour(content: Self.old, cut: 100_000))
    server.change { $0.cuts = 1 }
    let end = Box<Result<HTTPReply<URL>, HTTPError>?>(nil)
    // The delay is longer than this test takes.
    let download = session.resumableDownload(
      try HTTPRequest(.get, to: server.url), to: target, options: Self.retrying(delay: .seconds(60))
    ) { result in end.change { $0 = result } }
    download.resume()
    try await eventually(download.progress.received) { $0 == 100_000 }
    // The interceptor may not have decided yet. In either case, a download that is paused and resumed continues at
    // once.
    if isPaused {
      try await eventually(names) { $0.contains("here.bin.netwatch-part.json") }
      download.pause()
      download.resume()
      let result = try await eventually(end.now) { $0 != nil }
      _ = try result?.get()
      #expect(try Data(contentsOf: target) == Self.old)
    } else {
      download.cancel()
      let result = try await eventually(end.now) { $0 != nil }
      #expect(throws: HTTPError.self) { try result?.get() }
      #expect(names == [])
    }
  }

  @Test func `a finished download holds no file open`() async throws {
    let server = try PartServer(PartServer.Behaviour(content: Self.old))
    let ended = Box(false)
    let download = session.resumableDownload(try HTTPRequest(.get, to: server.url), to: target) { _ in
      ended.change { $0 = true }
    }
    download.resume()
    try await eventually(ended.now) { $0 }
    let path = folder.path
    try await eventually(openFiles(in: path)) { $0.isEmpty }
    #expect(download.state == .finished && download.progress.received == 300_000)
  }

  private func openFiles(in folder: String) -> [String] {
    let own = "/proc/self/fd"
    let numbers = (try? FileManager.default.contentsOfDirectory(atPath: own)) ?? []
    return numbers.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "\(own)/\($0)") }
      .filter { $0.hasPrefix(folder) }
  }
}
