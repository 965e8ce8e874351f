import Foundation
import HTTPTypes
import NetwatchTestSupport

@testable import NetwatchHTTP

/// An answer for the tests of the cache. Its `ETag` states the number, seed and length from which its body is made.
struct CacheSample: Hashable, Sendable {
  let number: Int
  let seed: UInt64
  let length: Int

  static func url(_ number: Int) -> String { "https://host/\(number)" }

  static func request(_ number: Int) -> HTTPRequest {
    HTTPRequest(method: .get, scheme: "https", authority: "host", path: "/\(number)")
  }

  init(number: Int, seed: UInt64, length: Int) {
    self.number = number
    self.seed = seed
    self.length = length
  }

  /// Returns a sample with one of twenty numbers and a body of at most 400,000 bytes.
  static func random(_ random: inout SplitMix) -> CacheSample {
    CacheSample(
      number: Int.random(in: 0..<20, using: &random), seed: random.next(),
      length: Int.random(in: 0...400_000, using: &random))
  }

  /// Reads a sample from an answer that the cache has found.
  ///
  /// - Throws: A `TestFailure` if the body is not the one that the head states.
  init(_ cached: CachedAnswer) throws {
    let words = (cached.answer.response.headerFields[.eTag] ?? "").split(separator: " ")
    guard words.count == 3, let number = Int(words[0]), let seed = UInt64(words[1]), let length = Int(words[2]) else {
      throw TestFailure("the head is \(cached.answer.response)")
    }
    self.init(number: number, seed: seed, length: length)
    var body: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 10_000)
    while true {
      let count = try unsafe room.withUnsafeMutableBytes { try unsafe cached.read(into: $0, at: Int64(body.count)) }
      if count == 0 { break }
      body += room.prefix(count)
    }
    guard body == self.body, cached.bodyCount == Int64(length) else { throw TestFailure("a wrong body of \(self)") }
  }

  var body: [UInt8] {
    var random = SplitMix(seed: seed)
    // The body repeats itself, but its period is none of the sizes in which the cache stores and reads it.
    let words = (0..<509).map { _ in random.next() }
    let part = unsafe words.withUnsafeBytes { unsafe [UInt8]($0) }
    var body = [UInt8](repeating: 0, count: length)
    for start in stride(from: 0, to: length, by: part.count) {
      let end = min(start + part.count, length)
      body.replaceSubrange(start..<end, with: part[..<(end - start)])
    }
    return body
  }

  /// The sample as the cache stores it. The times of the request and of the answer are `number` seconds.
  var answer: StoredAnswer? {
    let response = HTTPResponse(status: .ok, headerFields: [.eTag: "\(number) \(seed) \(length)"])
    return StoredAnswer(Self.request(number), response, asked: Int64(number), came: Int64(number))
  }

  /// Begins to store the sample. The caller has to end the writer that is returned.
  ///
  /// - Parameter count: The largest number of bytes of the body to store. Default: all.
  func begin(in cache: HTTPDiskCache, upTo count: Int = .max) -> CacheWriter {
    guard let answer else { preconditionFailure("it may be stored") }
    let writer = cache.store(answer)
    let body = body.prefix(count)
    unsafe body.withUnsafeBytes { bytes in
      for start in stride(from: 0, to: body.count, by: 16_384) {
        unsafe writer.write(UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + 16_384, body.count)]))
      }
    }
    return writer
  }

  /// Stores the sample, and returns when the cache has stored it.
  func store(in cache: HTTPDiskCache) async {
    begin(in: cache).finish()
    _ = await Self.answer(-1, in: cache)
  }

  func store(in folder: CacheFolder) {
    guard let answer else { return }
    folder.begin(1, answer)
    folder.append(body, to: 1)
    folder.end(1)
  }

  static func answer(_ number: Int, in cache: HTTPDiskCache) async -> CachedAnswer? {
    await withCheckedContinuation { done in cache.find(url(number)) { done.resume(returning: $0) } }
  }

  /// Returns the stored sample with this number. Nil if there is none. If its body is wrong, the result has the number
  /// -1.
  static func find(_ number: Int, in cache: HTTPDiskCache) async -> CacheSample? {
    guard let cached = await answer(number, in: cache) else { return nil }
    return (try? CacheSample(cached)) ?? CacheSample(number: -1, seed: 0, length: 0)
  }

  /// Stores, reads and removes random samples. Throws if an answer is incomplete or belongs to another URL.
  static func useAtRandom(_ path: String, seed: UInt64) async throws {
    let cache = try HTTPDiskCache(folder: URL(filePath: path), capacity: 4 << 20)
    var random = SplitMix(seed: seed)
    for _ in 0..<300 {
      let number = Int.random(in: 0..<30, using: &random)
      switch Int.random(in: 0..<20, using: &random) {
      case 0: await cache.remove(for: request(number))
      case 1 where random.oneIn(10): await cache.removeAll()
      case 2...9:
        let length = Int.random(in: 0...300_000, using: &random)
        await CacheSample(number: number, seed: random.next(), length: length).store(in: cache)
      case 10:
        if let cached = await answer(number, in: cache) { cache.replaceHead(of: cached, by: cached.answer) }
      default:
        guard let cached = await answer(number, in: cache) else { continue }
        guard try CacheSample(cached).number == number else { throw TestFailure("an answer of another URL") }
      }
    }
  }
}
