import Foundation
import HTTPTypes
import NetwatchTestSupport

@testable import NetwatchHTTP

/// A server that keeps the head of each request, with a folder for a cache, and with sessions that use this cache.
final class CacheOrigin: Sendable {
  let server: ScriptedServer
  let place: TemporaryFolder
  private let heads: Box<[String]>

  /// - Parameter answer: Makes the whole answer to the head of a request; nil closes the connection.
  init(_ answer: @escaping @Sendable (_ head: String) -> String?) throws {
    let heads = Box<[String]>([])
    self.heads = heads
    place = try TemporaryFolder()
    server = try ScriptedServer { connection, _ in
      while let head = connection.readHead() {
        heads.change { $0.append(head) }
        guard let text = answer(head), connection.write(text) else { return }
      }
    }
  }

  static let fresh = "Cache-Control: max-age=600"

  /// Starts a server that numbers its 200 answers: the body is the number of the request. If a request has the
  /// condition `If-None-Match: "1"`, the answer is 304.
  static func counting(_ fields: String) throws -> CacheOrigin {
    let count = Box(0)
    return try CacheOrigin { head in
      count.change { $0 += 1 }
      return head.contains("If-None-Match: \"1\"")
        ? CacheOrigin.answer("304 Not Modified", fields, "X-New: \(count.now)")
        : CacheOrigin.answer("200 OK", fields, "ETag: \"1\"", body: "\(count.now)")
    }
  }

  deinit { server.stop() }

  /// The heads of all requests, in the order in which they came.
  var requests: [String] { heads.now }

  static func answer(_ status: String = "200 OK", _ fields: String..., body: String = "") -> String {
    let lines = ["HTTP/1.1 \(status)"] + fields + ["Content-Length: \(body.utf8.count)", "", body]
    return lines.joined(separator: "\r\n")
  }

  static func session(
    _ base: URL, _ folder: TemporaryFolder, by clock: ManualClock? = nil,
    _ change: (inout HTTPSessionConfiguration) -> Void = { _ in }
  ) throws -> HTTPSessionManager {
    var configuration = HTTPSessionConfiguration()
    configuration.cache = try HTTPDiskCache(folder: folder.url("cache"))
    change(&configuration)
    return try HTTPSessionManager(
      baseURL: base, configuration: configuration, threads: clock.map { try HTTPThreads(by: $0) })
  }

  /// Sends random requests through a cache. The server must answer each with the last component of its path, repeated
  /// 50,000 times. Throws if a body is different.
  static func useAtRandom(_ base: URL, _ path: String, seed: UInt64) async throws {
    var configuration = HTTPSessionConfiguration()
    configuration.cache = try HTTPDiskCache(folder: URL(filePath: path), capacity: 1 << 20)
    let session = try HTTPSessionManager(baseURL: base, configuration: configuration)
    var random = SplitMix(seed: seed)
    let policies: [HTTPCachePolicy] = [.standard, .ignoresCache, .prefersCache, .revalidates]
    for _ in 0..<300 {
      let name = "\(Int.random(in: 10...19, using: &random))"
      let reply = try await session.data(for: name, options: .policy(policies[Int.random(in: 0...3, using: &random)]))
      guard reply.text == String(repeating: name, count: 50_000) else { throw TestFailure("a wrong body of \(name)") }
    }
  }

  func session(
    by clock: ManualClock? = nil, _ change: (inout HTTPSessionConfiguration) -> Void = { _ in }
  ) throws -> HTTPSessionManager {
    try Self.session(server.url, place, by: clock, change)
  }
}

extension HTTPTaskOptions {
  static func policy(_ policy: HTTPCachePolicy) -> HTTPTaskOptions { .with { $0.cachePolicy = policy } }
}

extension HTTPReply<Data> {
  var text: String { String(decoding: value, as: UTF8.self) }
}
