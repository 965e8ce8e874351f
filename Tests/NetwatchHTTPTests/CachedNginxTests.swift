import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of a session with a cache and nginx, which has its own validators and encodings.
@Suite(.timeLimit(.minutes(5))) struct CachedNginxTests {
  @Test func `a compressed answer is kept as it was delivered, and validated`() async throws {
    let nginx = try NginxServer()
    let place = try TemporaryFolder()
    let body = String(repeating: "to be kept ", count: 20_000)
    try nginx.serve(body, as: "a.txt")
    let base = nginx.url
    let session = try CacheOrigin.session(base, place)
    for use in [nil, HTTPCacheUse.validated] {
      let reply = try await session.data(for: "gzip/a.txt", options: .with { $0.cachePolicy = .revalidates })
      #expect(String(decoding: reply.value, as: UTF8.self) == body && reply.metrics.cacheUse == use)
      #expect(reply.response.headerFields[.contentEncoding] == "gzip")
    }
    let plain = try CacheOrigin.session(base, place) { $0.acceptsCompressedResponses = false }
    let reply = try await plain.data(for: "gzip/a.txt")
    #expect(reply.metrics.cacheUse == nil && reply.response.headerFields[.contentEncoding] == nil)
    let lines = try await nginx.log(lines: 3)
    #expect(lines.map { $0.split(separator: " ")[2] } == ["200", "304", "200"])
  }

  @Test func `an entity tag that is not the file's any more brings the new file`() async throws {
    let nginx = try NginxServer(server: "location /old/ { alias files/; expires -1; }")
    let place = try TemporaryFolder()
    try nginx.serve("old", as: "a.txt")
    let session = try CacheOrigin.session(
      nginx.url, place)
    _ = try await session.data(for: "old/a.txt")
    #expect(try await session.data(for: "old/a.txt").metrics.cacheUse == .validated)
    try nginx.serve("newer", as: "a.txt")
    for use in [nil, HTTPCacheUse.validated] {
      let reply = try await session.data(for: "old/a.txt")
      #expect(reply.value == Data("newer".utf8) && reply.metrics.cacheUse == use)
    }
    let lines = try await nginx.log(lines: 4)
    #expect(lines.map { $0.split(separator: " ")[2] } == ["200", "304", "200", "304"])
  }
}
