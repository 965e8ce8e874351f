import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite struct CacheTests {
  /// A simple model of the cache: a list of all entries, with the oldest first.
  private struct Model {
    var entries: [(key: Int, value: Int, cost: Int)] = []
    let capacity: Int
    let preferred: Int
    var usage: Int { entries.reduce(0) { $0 + $1.cost } }

    mutating func insert(_ key: Int, _ value: Int, _ cost: Int) {
      entries.removeAll { $0.key == key }
      guard cost <= capacity else { return }
      if usage + cost > capacity {
        while usage > max(preferred - cost, 0) { entries.removeFirst() }
      }
      entries.append((key, value, cost))
    }

    mutating func value(_ key: Int) -> Int? {
      guard let index = entries.firstIndex(where: { $0.key == key }) else { return nil }
      let entry = entries.remove(at: index)
      entries.append(entry)
      return entry.value
    }
  }

  @Test(arguments: [UInt64(1), 2])
  func `it does what a plain list does, for 100,000 operations`(_ seed: UInt64) {
    var random = SplitMix(seed: seed)
    let cache = AutoPurgingCache<Int, Int>(capacity: 1_000, preferredAfterPurge: 600)
    var model = Model(capacity: 1_000, preferred: 600)
    var hits = 0
    var purges = 0
    for round in 0..<100_000 {
      let key = Int.random(in: 0..<60, using: &random)
      switch Int.random(in: 0..<100, using: &random) {
      case 0..<45:
        let cost =
          random.oneIn(200) ? Int.random(in: 500...1_200, using: &random) : Int.random(in: 0...50, using: &random)
        let before = model.entries.count
        cache.insert(round, cost: cost, for: key)
        model.insert(key, round, cost)
        if model.entries.count < before { purges += 1 }
      case 45..<95:
        let value = cache.value(for: key)
        if value != nil { hits += 1 }
        if value != model.value(key) {
          Issue.record("round \(round): \(value.map(String.init) ?? "none")")
          return
        }
      case 95..<99:
        #expect(cache.remove(key) == model.entries.contains { $0.key == key })
        model.entries.removeAll { $0.key == key }
      default:
        if random.oneIn(20) {
          cache.removeAll()
          model.entries = []
        }
      }
      if cache.usage != model.usage || cache.count != model.entries.count || cache.usage > 1_000 {
        Issue.record("round \(round): \(cache.usage) instead of \(model.usage)")
        return
      }
    }
    #expect(hits > 10_000 && purges > 1_000)
  }

  @Test func `what no cache can take is not kept, and costs nothing`() {
    let cache = AutoPurgingCache<String, Data>(capacity: 10, preferredAfterPurge: 6)
    cache.insert(Data(count: 4), for: "a")
    cache.insert(Data(count: 11), for: "b")
    #expect(cache.count == 1 && cache.usage == 4)
    cache.insert(Data(), cost: .max, for: "a")
    #expect(cache.count == 0 && cache.usage == 0)
    cache.insert(Data(), cost: -5, for: "c")
    #expect(cache.count == 1 && cache.usage == 0)
  }

  @Test func `an image costs four bytes a pixel`() throws {
    // These bytes are the head of a PNG of 300 by 200 pixels.
    var bytes: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
    bytes += [0, 0, 1, 44, 0, 0, 0, 200, 8, 6, 0, 0, 0, 0, 0, 0, 0]
    let image = EncodedImage(header: try #require(ImageHeader(Data(bytes))), data: Data(bytes))
    #expect(image.cacheCost == 240_000)
    #expect(Data(count: 7).cacheCost == 7)
  }

  @Test func `eight threads can use it at once`() async {
    let cache = AutoPurgingCache<Int, Int>(capacity: 1_000, preferredAfterPurge: 600)
    let wrong = Box(0)
    await withTaskGroup(of: Void.self) { group in
      for thread in 0..<8 {
        group.addTask {
          var random = SplitMix(seed: UInt64(thread))
          for _ in 0..<5_000 {
            let key = Int.random(in: 0..<100, using: &random)
            if random.oneIn(3) { cache.insert(key * 7, cost: 20, for: key) }
            if let value = cache.value(for: key), value != key * 7 { wrong.change { $0 += 1 } }
            if random.oneIn(50) { cache.remove(key) }
          }
        }
      }
    }
    #expect(wrong.now == 0)
    #expect(cache.usage <= 1_000 && cache.usage == cache.count * 20)
  }

  // MARK: HTTP's rules

  private func freshness(_ fields: HTTPFields, delay: Duration = .zero) -> CacheFreshness? {
    let request = HTTPRequest(method: .get, scheme: "http", authority: "host", path: "/")
    return CacheFreshness(
      request, HTTPResponse(status: .ok, headerFields: fields), at: .seconds(1_000), delay: delay)
  }

  private func lifetime(_ fields: HTTPFields, delay: Duration = .zero) -> Int64? {
    freshness(fields, delay: delay).map { ($0.freshUntil - .seconds(1_000)).components.seconds }
  }

  @Test(
    arguments: [
      ("max-age=60", 60), ("public, MAX-AGE=60", 60), ("max-age=\"60\"", 60), ("max-age=60, no-cache", 0), ("", 0),
      ("max-age=60, max-age=30", 30), ("max-age=-1", 0), ("max-age", 0), ("max-age=x", 0), ("s-maxage=60", 0),
      ("private=\"a, no-store\", max-age=60", 60), ("no-store", nil), ("max-age=60,No-Store", nil),
      ("max-age=99999999999999999999999999", 1 << 32),
    ] as [(String, Int64?)])
  func `a response is fresh for as long as it says`(_ control: String, _ seconds: Int64?) {
    #expect(lifetime([.cacheControl: control]) == seconds)
  }

  @Test func `age and delay count, and Expires where there is no max-age`() {
    #expect(lifetime([.cacheControl: "max-age=60", .age: "50"]) == 10)
    #expect(lifetime([.cacheControl: "max-age=60", .age: "70"]) == 0)
    #expect(lifetime([.cacheControl: "max-age=60"], delay: .seconds(5)) == 55)
    let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    #expect(lifetime([.date: date, .expires: "Sun, 06 Nov 1994 08:50:37 GMT"]) == 60)
    #expect(lifetime([.date: date, .expires: "0"]) == 0)
    #expect(lifetime([.date: date, .expires: "Sun, 06 Nov 1994 08:50:37 GMT", .cacheControl: "max-age=5"]) == 5)
  }

  @Test func `what depends on something that is no part of the key is not kept`() {
    #expect(freshness([.vary: "Accept"]) != nil)
    #expect(freshness([.vary: "*"]) == nil)
    #expect(freshness([.vary: "Accept, Cookie"]) == nil)
  }

  @Test func `the key is the method, the URL and the fields, in whatever order they stand`() throws {
    var (one, two) = (
      HTTPRequest(method: .get, scheme: "http", authority: "host", path: "/a#x"),
      HTTPRequest(method: .get, scheme: "http", authority: "host", path: "/a#y")
    )
    one.headerFields = [.accept: "a", .userAgent: "b"]
    two.headerFields = [.userAgent: "b", .accept: "a"]
    #expect(CachedResource(one) == CachedResource(two))
    #expect(DownloadKey(one, .standard) == DownloadKey(two, .standard))
    #expect(DownloadKey(one, .standard) != DownloadKey(two, .ignoresCache))
    two.headerFields[.accept] = "c"
    #expect(CachedResource(one) != CachedResource(two))
    two = one
    two.method = .head
    #expect(CachedResource(one) != CachedResource(two))
  }
}
