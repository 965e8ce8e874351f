import Foundation
import Glibc
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite(.timeLimit(.minutes(5))) struct HTTPDiskCacheTests {
  private let place: TemporaryFolder
  private let cache: HTTPDiskCache

  init() throws {
    place = try TemporaryFolder()
    cache = try HTTPDiskCache(folder: place.url("cache"))
  }

  private var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: place.file("cache"))) ?? []).sorted()
  }

  private func stored(_ number: Int) async -> CacheSample? { await CacheSample.find(number, in: cache) }

  // MARK: Stored answers

  @Test func `an answer is found again, by this cache and by the next one`() async throws {
    for length in [0, 1, 100, 65_536, 1_000_000] {
      let sample = CacheSample(number: length, seed: 1, length: length)
      await sample.store(in: cache)
      #expect(await stored(length) == sample)
      let next = try HTTPDiskCache(folder: cache.folder)
      #expect(await CacheSample.find(length, in: next) == sample)
    }
    #expect(await stored(7) == nil)
    #expect(names.count == 5 && names.allSatisfy { $0.hasSuffix(".answer") })
  }

  @Test func `the head is found as it was`() async throws {
    var request = CacheSample.request(1)
    request.headerFields = [.accept: "a, b", .acceptLanguage: "de"]
    let fields: HTTPFields = [
      .vary: "Accept, X-Missing", .setCookie: "a=1; Path=/", .setCookie: "b", .contentType: "text/plain; x=\"ü\"",
    ]
    let response = HTTPResponse(status: .init(code: 404, reasonPhrase: "Not \"here\""), headerFields: fields)
    let answer = try #require(StoredAnswer(request, response, asked: 5, came: 7))
    let writer = cache.store(answer)
    writer.finish()
    let found = await withCheckedContinuation { done in cache.find(answer.url) { done.resume(returning: $0) } }
    #expect(found?.answer == answer)
    #expect(found?.answer.response.status.reasonPhrase == "Not \"here\"")
    #expect(found?.answer.answers(request) == true)
  }

  @Test func `the newest answer for a URL is the one`() async throws {
    for seed in 1...5 { await CacheSample(number: 1, seed: UInt64(seed), length: seed * 100).store(in: cache) }
    #expect(await stored(1) == CacheSample(number: 1, seed: 5, length: 500))
    #expect(names.count == 1)
  }

  @Test func `answers to different fields of a request stand side by side, the four that were used last`() throws {
    let folder = try CacheFolder(place.file("variants"), capacity: 1 << 20)
    func store(_ language: String, vary: String = "Accept-Language") throws {
      var request = CacheSample.request(1)
      request.headerFields[.acceptLanguage] = language
      let response = HTTPResponse(status: .ok, headerFields: [.vary: vary, .eTag: language])
      folder.begin(1, try #require(StoredAnswer(request, response, asked: 1, came: 1)))
      folder.append(Array(language.utf8), to: 1)
      folder.end(1)
    }
    func found(_ language: String) -> String? {
      var request = CacheSample.request(1)
      request.headerFields[.acceptLanguage] = language
      return folder.find(CacheSample.url(1)) { [request] in $0.answers(request) }?.answer.response.headerFields[.eTag]
    }
    for (age, language) in ["a", "b", "c", "d"].enumerated() {
      try store(language)
      try setAge(of: 1, 100 - age, in: "variants", variant: age)
    }
    #expect(["a", "b", "c", "d", "e"].map(found) == ["a", "b", "c", "d", nil])
    // These ages make "b" the answer that was not used for the longest time.
    for (variant, age) in [(0, 10), (1, 90), (2, 20), (3, 30)] {
      try setAge(of: 1, age, in: "variants", variant: variant)
    }
    try store("e")
    #expect(["a", "b", "c", "d", "e"].map(found) == ["a", nil, "c", "d", "e"])
    #expect(folder.size() == 4 * 4_096)
    // An answer without Vary is for all languages, and replaces the others.
    try store("x", vary: "")
    #expect(["a", "b", "c"].map(found) == ["x", "x", "x"])
    #expect(folder.size() == 4_096)
    try store("y")
    try store("z")
    folder.remove(CacheSample.url(1))
    #expect(folder.size() == 0 && found("y") == nil)
  }

  @Test func `an answer that is not whole is not stored`() async throws {
    let sample = CacheSample(number: 1, seed: 1, length: 100)
    await sample.store(in: cache)
    let other = CacheSample(number: 1, seed: 2, length: 100)
    other.begin(in: cache).cancel()
    _ = other.begin(in: cache)  // the writer is released before it has ended
    #expect(await stored(1) == sample)
    #expect(names.count == 1)
  }

  @Test func `an answer that is read stays readable when it is replaced and removed`() async throws {
    let sample = CacheSample(number: 1, seed: 1, length: 200_000)
    await sample.store(in: cache)
    let found = try #require(await CacheSample.answer(1, in: cache))
    await CacheSample(number: 1, seed: 2, length: 10).store(in: cache)
    await cache.removeAll()
    #expect(try CacheSample(found) == sample)
  }

  @Test func `a new head leaves the body as it is`() async throws {
    let sample = CacheSample(number: 1, seed: 1, length: 1_000_000)
    await sample.store(in: cache)
    let found = try #require(await CacheSample.answer(1, in: cache))
    let notModified = HTTPResponse(status: .notModified, headerFields: [.cacheControl: "max-age=1", .server: "new"])
    let fresh = try #require(found.answer.refreshed(by: notModified, asked: 20, came: 21))
    cache.replaceHead(of: found, by: fresh)
    let now = try #require(await CacheSample.answer(1, in: cache))
    #expect(now.answer == fresh)
    #expect(try CacheSample(now) == sample)
    #expect(names.count == 1)
  }

  // MARK: Capacity

  /// Stores answers with bodies of 1,000 bytes. Each of them takes 4 KiB on the disk.
  private static func fill(_ folder: CacheFolder, _ numbers: Range<Int>) {
    for number in numbers { CacheSample(number: number, seed: 1, length: 1_000).store(in: folder) }
  }

  @Test func `what was not used for the longest goes first`() throws {
    let folder = try CacheFolder(place.file("small"), capacity: 40 * 4_096)
    Self.fill(folder, 0..<40)
    #expect(folder.size() == 40 * 4_096)
    // All answers have the same age except these.
    for (number, age) in [(3, 100), (5, 90), (7, 80), (9, 70), (11, 60)] { try setAge(of: number, age, in: "small") }
    #expect(folder.find(CacheSample.url(3)) != nil)
    Self.fill(folder, 40..<41)
    #expect(folder.size() == 36 * 4_096)
    let missing = (0..<41).filter { folder.find(CacheSample.url($0)) == nil }
    #expect(missing.count == 5)
    #expect(Set(missing).isSuperset(of: [5, 7, 9, 11]))
    #expect(!missing.contains(3) && !missing.contains(40))
  }

  private func setAge(of number: Int, _ seconds: Int, in folder: String, variant: Int = 0) throws {
    let ending = variant == 0 ? "answer" : "\(variant).answer"
    let path = "\(place.file(folder))/\(OpenFile.fingerprint(CacheSample.url(number))).\(ending)"
    var times = [timespec](repeating: timespec(tv_sec: time(nil) - seconds, tv_nsec: 0), count: 2)
    try #require(unsafe utimensat(AT_FDCWD, path, &times, 0) == 0)
  }

  @Test func `an answer that would take more than half of the room is not stored`() async throws {
    let cache = try HTTPDiskCache(folder: place.url("small"), capacity: 100_000)
    await CacheSample(number: 1, seed: 1, length: 49_000).store(in: cache)
    await CacheSample(number: 2, seed: 1, length: 51_000).store(in: cache)
    #expect(await CacheSample.find(1, in: cache) != nil)
    #expect(await CacheSample.find(2, in: cache) == nil)
    #expect(await cache.currentSize == 53_248)
  }

  @Test func `a smaller limit counts from the beginning`() async throws {
    Self.fill(try CacheFolder(place.file("small"), capacity: 1 << 20), 0..<40)
    let cache = try HTTPDiskCache(folder: place.url("small"), capacity: 10 * 4_096)
    #expect(await cache.currentSize == 9 * 4_096)
  }

  // MARK: Removal

  @Test func `answers are removed: all, one, and those since a time`() async throws {
    for number in 1...5 { await CacheSample(number: number, seed: 1, length: 10).store(in: cache) }
    #expect(await cache.currentSize == 5 * 4_096)
    await cache.remove(for: CacheSample.request(2))
    #expect(names.count == 4)
    // The answer of a sample came as many seconds after the beginning of 1970 as its number says.
    await cache.removeAll(since: Date(timeIntervalSince1970: 4))
    #expect(await stored(1) != nil)
    #expect(await stored(3) != nil)
    #expect(names.count == 2)
    await cache.removeAll()
    #expect(names.isEmpty)
    #expect(await cache.currentSize == 0)
    for date in [Date.distantPast, .distantFuture] { await cache.removeAll(since: date) }
  }

  @Test func `what was being stored when all was removed is not there afterwards`() async throws {
    let (one, two) = (CacheSample(number: 1, seed: 1, length: 10), CacheSample(number: 2, seed: 1, length: 10))
    let (first, second) = (one.begin(in: cache), two.begin(in: cache))
    await cache.remove(for: CacheSample.request(1))
    first.finish()
    #expect(await stored(1) == nil)
    await cache.removeAll()
    second.finish()
    #expect(await stored(2) == nil)
    #expect(names.isEmpty)
  }

  @Test func `a disk that is much slower than the network costs the answer, and no memory`() async throws {
    let gate = DispatchSemaphore(value: 0)
    cache.run { _ in gate.wait() }
    let slow = CacheSample(number: 1, seed: 1, length: 9 << 20).begin(in: cache)
    let quick = CacheSample(number: 2, seed: 1, length: 7 << 20).begin(in: cache)
    slow.finish()
    quick.finish()
    gate.signal()
    #expect(await stored(1) == nil)
    #expect(await stored(2) == CacheSample(number: 2, seed: 1, length: 7 << 20))
    #expect(names.count == 1)
  }

  // MARK: The folder

  @Test func `its folder and its files are for their user alone`() async throws {
    await CacheSample(number: 1, seed: 1, length: 10).store(in: cache)
    var status = stat()
    try #require(unsafe stat(cache.folder.path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o700)
    try #require(unsafe stat("\(cache.folder.path)/\(names[0])", &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600)
  }

  @Test func `what a request says of its user is not in the folder`() async throws {
    var request = CacheSample.request(1)
    request.headerFields = [.authorization: "Bearer secret-token", .cookie: "secret-cookie"]
    let response = HTTPResponse(status: .ok, headerFields: [.vary: "Authorization"])
    let answer = try #require(StoredAnswer(request, response, asked: 0, came: 0))
    #expect(answer.answers(request))
    cache.store(answer).finish()
    _ = await cache.currentSize
    let file = try Data(contentsOf: cache.folder.appending(path: try #require(names.first)))
    #expect(file.range(of: Data("authorization".utf8)) != nil)
    #expect(file.range(of: Data("secret".utf8)) == nil)
  }

  @Test func `a folder that others can write into is refused`() throws {
    try place.makeFolder("open")
    try #require(unsafe chmod(place.file("open"), 0o777) == 0)
    let error = #expect(throws: HTTPError.self) { try HTTPDiskCache(folder: place.url("open")) }
    #expect(error?.kind == .fileFailed)
    #expect(error?.message.contains("chmod 700") == true)
    try place.write("", to: "file")
    for url in [place.url("file"), place.url("file/below"), URL(string: "https://host/")!] {
      #expect(throws: HTTPError.self) { try HTTPDiskCache(folder: url) }
    }
  }

  @Test(arguments: ["../outside", "a/../../b", "%2e%2e/%2f", "a\u{0}b", ".", "", String(repeating: "x", count: 9_000)])
  func `no URL leads out of the folder`(_ path: String) async throws {
    var request = CacheSample.request(1)
    request.path = "/" + path
    let answer = try #require(StoredAnswer(request, HTTPResponse(status: .ok), asked: 0, came: 0))
    cache.store(answer).finish()
    let found = await withCheckedContinuation { done in cache.find(answer.url) { done.resume(returning: $0) } }
    #expect(found?.answer == answer)
    #expect(names.count == 1)
    #expect(try place.names == ["cache"])
  }

  @Test func `files of others stay, and links are not followed`() async throws {
    let name = "\(OpenFile.fingerprint(CacheSample.url(1))).answer"
    try place.write("keep me", to: "cache/notes.txt")
    try place.write("keep me", to: "victim")
    try place.link("cache/\(name)", to: place.file("victim"))
    #expect(await stored(1) == nil)
    await CacheSample(number: 1, seed: 1, length: 10).store(in: cache)
    #expect(await stored(1) != nil)
    await cache.removeAll()
    #expect(names == ["notes.txt"])
    #expect(place.text(of: "victim") == "keep me")
  }

  @Test func `a folder that is removed costs the answers, and nothing else`() async throws {
    await CacheSample(number: 1, seed: 1, length: 10).store(in: cache)
    try place.remove("cache")
    #expect(await stored(1) == nil)
    await CacheSample(number: 2, seed: 1, length: 10).store(in: cache)
    #expect(await stored(2) == nil)
    #expect(await cache.currentSize == 0)
  }

  @Test func `a full disk costs the answer, and leaves nothing behind`() async throws {
    try place.makeFolder("disk")
    try Programs.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "netwatch-test", place.file("disk")])
    defer { _ = try? Programs.run(["umount", "-l", place.file("disk")]) }
    let cache = try HTTPDiskCache(folder: place.url("disk"))
    await CacheSample(number: 1, seed: 1, length: 100_000).store(in: cache)
    await CacheSample(number: 2, seed: 1, length: 300_000).store(in: cache)
    // An answer that is too large for the disk does not replace the old one.
    await CacheSample(number: 1, seed: 2, length: 300_000).store(in: cache)
    #expect(await CacheSample.find(1, in: cache) == CacheSample(number: 1, seed: 1, length: 100_000))
    #expect(await CacheSample.find(2, in: cache) == nil)
    #expect(try FileManager.default.contentsOfDirectory(atPath: place.file("disk")).count == 1)
  }

  // MARK: Damage

  /// Returns the path of the only file of the cache.
  private func onlyFile() throws -> String { "\(cache.folder.path)/\(try #require(names.first))" }

  @Test func `a file with any byte changed, cut or added is not used, and is removed`() async throws {
    let sample = CacheSample(number: 1, seed: 1, length: 300)
    await sample.store(in: cache)
    let path = try onlyFile()
    let whole = try Data(contentsOf: URL(filePath: path))
    var random = SplitMix(seed: 12)
    func find(_ data: Data) throws -> CachedAnswer? {
      // `Data.write(to:)` is not used, because it waits for the disk (fsync), which would happen thousands of times
      // here.
      let file = try #require(FileHandle(forWritingAtPath: path))
      try file.write(contentsOf: data)
      try file.truncate(atOffset: UInt64(data.count))
      try file.close()
      return CachedAnswer.head(of: try OpenFile(reading: path)).flatMap { $0.isBodyWhole ? $0 : nil }
    }
    try #require(try find(whole) != nil)
    for place in whole.indices {
      var changed = whole
      changed[place] ^= UInt8.random(in: 1...255, using: &random)
      try #require(try find(changed) == nil, "byte \(place)")
      try #require(try find(whole.prefix(place)) == nil, "the first \(place) bytes")
    }
    try #require(try find(whole + [0]) == nil)
    for round in 0..<FuzzRounds.count(default: 2_000) {
      var changed = whole
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        let place = Int.random(in: changed.indices, using: &random)
        changed[place] = UInt8.random(in: 0...255, using: &random)
      }
      guard changed != whole else { continue }
      try #require(try find(changed) == nil, "round \(round)")
    }
    #expect(await stored(1) == nil)
    #expect(names.isEmpty)
  }

  @Test func `a head that is whole and makes no sense is none`() throws {
    var random = SplitMix(seed: 13)
    let answer = try #require(CacheSample(number: 1, seed: 1, length: 0).answer)
    let text = try #require(answer.fileText)
    #expect(StoredAnswer(fileText: text) == answer)
    for _ in 0..<FuzzRounds.count(default: 5_000) {
      var changed = text
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = changed.indices.randomElement(using: &random) ?? 0
        switch Int.random(in: 0..<3, using: &random) {
        case 0: changed[place] = UInt8.random(in: 0...255, using: &random)
        case 1: changed.remove(at: place)
        default: changed.insert(UInt8.random(in: 32...127, using: &random), at: place)
        }
      }
      guard let read = StoredAnswer(fileText: changed) else { continue }
      // A head that can be read can also be used without harm.
      _ = CacheDecision(on: CacheSample.request(1), read, .standard, at: 100)
      _ = read.mayStandIn(for: CacheSample.request(1), at: 100)
      #expect(read.response.headerFields.allSatisfy { !$0.value.utf8.contains(10) && !$0.value.utf8.contains(13) })
    }
    for wrong in [#"{"url":1}"#, "", "null", "[]", String(repeating: "[", count: 100_000)] {
      #expect(StoredAnswer(fileText: Array(wrong.utf8)) == nil)
    }
  }

  @Test func `two URLs with the same name do not answer for each other`() throws {
    let folder = try CacheFolder(place.file("small"), capacity: 1 << 20)
    CacheSample(number: 1, seed: 1, length: 10).store(in: folder)
    let names = [1, 2].map { "small/\(OpenFile.fingerprint(CacheSample.url($0))).answer" }
    try place.rename(names[0], to: names[1])
    #expect(folder.find(CacheSample.url(2)) == nil)
    #expect(FileManager.default.fileExists(atPath: place.file(names[1])))
  }

  // MARK: Other processes

  @Test func `a process that is killed again and again leaves answers that are whole`() async throws {
    var found = 0
    for round in 0..<12 {
      await #expect(processExitsWith: .signal(SIGKILL)) { [path = cache.folder.path as String, round = round as Int] in
        let cache = try HTTPDiskCache(folder: URL(filePath: path), capacity: 4 << 20)
        var random = SplitMix(seed: UInt64(round))
        for _ in 0..<Int.random(in: 2...8, using: &random) { await CacheSample.random(&random).store(in: cache) }
        // The kill comes while the next answers are stored, because the cache's thread is behind its work.
        CacheSample.random(&random).begin(in: cache).finish()
        let last = CacheSample.random(&random)
        let writer = last.begin(in: cache, upTo: Int.random(in: 0...2 * last.length, using: &random))
        if random.oneIn(3) { writer.finish() }
        kill(getpid(), SIGKILL)
      }
      let next = try HTTPDiskCache(folder: cache.folder, capacity: 4 << 20)
      for number in 0..<20 where await CacheSample.find(number, in: next) != nil { found += 1 }
      #expect(await next.currentSize <= 4 << 20)
      #expect(names.allSatisfy { $0.hasSuffix(".answer") })
    }
    #expect(found > 12)
  }

  @Test func `two processes and many tasks use one folder`() async throws {
    let path = cache.folder.path
    async let other = #expect(processExitsWith: .success) { [path = path as String] in
      try await CacheSample.useAtRandom(path, seed: 1)
    }
    try await withThrowingTaskGroup { group in
      for seed in 2...4 { group.addTask { try await CacheSample.useAtRandom(path, seed: UInt64(seed)) } }
      try await group.waitForAll()
    }
    _ = await other
    #expect(await cache.currentSize <= 4 << 20)
    #expect(names.allSatisfy { $0.hasSuffix(".answer") })
  }
}
