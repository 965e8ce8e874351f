import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of a session with a cache: how answers are delivered and stored, and what does not disturb that.
@Suite(.timeLimit(.minutes(5))) struct CachedDeliveryTests {
  // MARK: Ways of delivery

  @Test func `a file, a stream and progress come from the cache`() async throws {
    let body = String(repeating: "0123456789abcdef", count: 60_000)
    let origin = try CacheOrigin { _ in CacheOrigin.answer("200 OK", CacheOrigin.fresh, body: body) }
    let session = try origin.session()
    _ = try await session.data(for: "a")
    let file = origin.place.url("file")
    let download = try await session.download("a", to: .file(file))
    #expect(download.metrics.cacheUse == .hit)
    #expect(try Data(contentsOf: file) == Data(body.utf8))
    var streamed = Data()
    for try await part in try await session.stream("a").body { streamed += part }
    #expect(streamed == Data(body.utf8))
    let progress = Box<HTTPProgress?>(nil)
    _ = try await session.data(for: "a", options: .with { $0.onProgress = { news in progress.change { $0 = news } } })
    #expect(progress.now?.received == 960_000 && progress.now?.totalToReceive == 960_000)
    #expect(origin.requests.count == 1)
    // A resumable download requests a body without an encoding, which the cache stores as another answer.
    for (name, use) in [("b", nil), ("c", HTTPCacheUse.hit)] {
      let reply = try await session.resumableDownload("b", to: origin.place.url(name))
      #expect(reply.metrics.cacheUse == use)
      #expect(try Data(contentsOf: reply.value) == Data(body.utf8))
    }
    #expect(origin.requests.count == 2)
  }

  @Test func `what a caller has cancelled is not stored`() async throws {
    let origin = try CacheOrigin { _ in
      // The server announces more bytes than it sends.
      "HTTP/1.1 200 OK\r\n\(CacheOrigin.fresh)\r\nContent-Length: 100000\r\n\r\n"
        + String(repeating: "x", count: 50_000)
    }
    let clock = ManualClock()
    let session = try origin.session(by: clock)
    let kinds = Box<[HTTPError.Kind?]>([])
    func beginning() async throws -> HTTPTask {
      let received = Box<Int64>(0)
      let options = HTTPTaskOptions.with {
        $0.timeout = .seconds(9)
        $0.onProgress = { news in received.change { $0 = news.received } }
      }
      let task = session.dataTask("a", options: options) { result in
        kinds.change {
          if case .failure(let error) = result { $0.append(error.kind) } else { $0.append(nil) }
        }
      }
      task.resume()
      try await eventually(received.now) { $0 > 0 }
      return task
    }
    try await beginning().cancel()
    try await eventually(kinds.now) { $0 == [.cancelled] }
    // An answer that breaks off, or that is longer than the caller accepts, is not stored either.
    let late = try await beginning()
    await session.pass(.seconds(9), on: clock)
    try await eventually(kinds.now) { $0 == [.cancelled, .timedOut] }
    #expect(late.state == .finished)
    await #expect(throws: HTTPError.self) {
      try await session.data(for: "a", options: .with { $0.maximumResponseBytes = 10 })
    }
    let reply = try await session.data(for: "a", options: .policy(.requiresCache))
    #expect(reply.metrics.cacheUse == .miss)
    #expect(try FileManager.default.contentsOfDirectory(atPath: origin.place.file("cache")).isEmpty)
  }

  @Test func `a suspended task is answered when it goes on`() async throws {
    let origin = try CacheOrigin.counting(CacheOrigin.fresh)
    let session = try origin.session()
    for use in [nil, HTTPCacheUse.hit] {
      for _ in 0..<20 {
        let result = Box<Result<HTTPReply<Data>, HTTPError>?>(nil)
        let task = session.dataTask(use == nil ? "\(UInt64.random(in: 0 ... .max))" : "a") { reply in
          result.change { $0 = reply }
        }
        task.resume()
        task.suspend()
        _ = await session.configuration.cache?.currentSize
        task.resume()
        try await eventually(result.now) { $0 != nil }
        if case .success(let reply)? = result.now { #expect(reply.metrics.cacheUse == use) } else { Issue.record() }
      }
      _ = try await session.data(for: "a")
    }
    #expect(origin.requests.count == 21)
  }

  @Test func `a task that is cancelled while the cache looks ends once, and asks nobody`() async throws {
    let origin = try CacheOrigin.counting(CacheOrigin.fresh)
    let session = try origin.session()
    let ends = Box(0)
    for number in 0..<100 {
      let task = session.dataTask("\(number)") { _ in ends.change { $0 += 1 } }
      task.resume()
      task.cancel()
    }
    try await eventually(ends.now) { $0 == 100 }
    #expect(ends.now == 100)
  }

  @Test func `cookies of a stored answer are not set again`() async throws {
    let origin = try CacheOrigin { _ in
      CacheOrigin.answer("200 OK", CacheOrigin.fresh, "Set-Cookie: a=1; Path=/", body: "x")
    }
    let first = try origin.session()
    _ = try await first.data(for: "a")
    _ = await first.configuration.cache?.currentSize
    let session = try origin.session()
    let reply = try await session.data(for: "a")
    #expect(reply.metrics.cacheUse == .hit && reply.response.headerFields[.setCookie] != nil)
    _ = try await session.data(for: "b", options: .policy(.ignoresCache))
    #expect(origin.requests.count == 2 && !origin.requests[1].contains("Cookie:"))
  }

  @Test func `interceptors come before the cache, and events say that nothing was sent`() async throws {
    let origin = try CacheOrigin.counting("\(CacheOrigin.fresh)\r\nVary: Authorization")
    let session = try origin.session()
    let tokens = Box(0)
    let bearer = BearerTokenInterceptor { _ in
      tokens.change { $0 += 1 }
      return BearerToken("t")
    }
    let options = HTTPTaskOptions.with { $0.interceptors = [bearer] }
    _ = try await session.data(for: "a", options: options)
    let events = session.taskEvents()
    #expect(try await session.data(for: "a", options: options).metrics.cacheUse == .hit)
    // A request without the token is another request, because of `Vary: Authorization`.
    #expect(try await session.data(for: "a").text == "2")
    var kinds: [String] = []
    for await event in events {
      switch event.kind {
      case .sent: kinds.append("sent")
      case .received: kinds.append("received")
      case .finished(_, let metrics, _): kinds.append("\(metrics.cacheUse.map { "\($0)" } ?? "server")")
      default: continue
      }
      if kinds.count == 5 { break }
    }
    #expect(kinds == ["received", "hit", "sent", "received", "server"])
  }

  @Test func `a transport is asked only for what the cache does not have`() async throws {
    let server = ScriptedTransport { request, _ in
      request.headerFields[.ifNoneMatch] == nil
        ? HTTPTransportAnswer(.ok, headerFields: [.cacheControl: "max-age=0", .eTag: "\"1\""], body: Data("x".utf8))
        : HTTPTransportAnswer(.notModified, headerFields: [.eTag: "\"1\""])
    }
    let place = try TemporaryFolder()
    let session = try CacheOrigin.session(#require(URL(string: "https://host/")), place) {
      $0.transport = server
    }
    #expect(try await session.data(for: "a").text == "x")
    let reply = try await session.data(for: "a")
    #expect(reply.text == "x" && reply.metrics.cacheUse == .validated)
    #expect(server.requests.count == 2)
  }

  @Test func `an answer that the cache keeps for a transport that hangs is not disturbed by its end`() async throws {
    let (isUp, hanging, clock) = (Box(true), Box(0), ManualClock())
    let transport = ScriptedTransport { _, _ in
      // The transport hangs until its task is cancelled.
      if !isUp.now {
        hanging.change { $0 += 1 }
        let mute = AsyncStream<Void>.makeStream()
        for await _ in mute.stream {}
        mute.continuation.finish()
      }
      return HTTPTransportAnswer(
        .ok, headerFields: [.cacheControl: "max-age=0, stale-if-error=600"],
        body: Data(repeating: 7, count: 2_000_000))
    }
    let place = try TemporaryFolder()
    let session = try CacheOrigin.session(#require(URL(string: "https://host/")), place, by: clock) {
      $0.transport = transport
    }
    _ = try await session.data(for: "a")
    isUp.change { $0 = false }
    for number in 1...2 {
      let waiting = Task { try await session.data(for: "a", options: .with { $0.timeout = .seconds(9) }) }
      try await eventually(hanging.now) { $0 == number }
      await session.pass(.seconds(9), on: clock)
      let reply = try await waiting.value
      #expect(reply.metrics.cacheUse == .stale && reply.value == Data(repeating: 7, count: 2_000_000))
    }
  }

  @Test func `interceptors are not asked to repeat what the cache has answered`() async throws {
    let origin = try CacheOrigin { _ in CacheOrigin.answer("404 Not Found", CacheOrigin.fresh) }
    let asked = Box(0)
    let session = try origin.session { configuration in
      configuration.interceptors = [RepetitionCounter(asked: asked)]
    }
    #expect(try await session.data(for: "a").response.status.code == 404)
    #expect(asked.now == 1)
    #expect(try await session.data(for: "a").metrics.cacheUse == .hit)
    let miss = try await session.data(for: "b", options: .policy(.requiresCache))
    #expect(miss.response.status.code == 504 && asked.now == 1)
  }

  // MARK: Faults

  @Test func `a damaged file costs a request`() async throws {
    let origin = try CacheOrigin.counting(CacheOrigin.fresh)
    let session = try origin.session()
    for damage in 0..<3 {
      _ = try await session.data(for: "a", options: .policy(.prefersCache))
      _ = await session.configuration.cache?.currentSize
      let names = try FileManager.default.contentsOfDirectory(atPath: origin.place.file("cache"))
      let file = origin.place.url("cache/\(try #require(names.first))")
      var bytes = try Data(contentsOf: file)
      switch damage {
      case 0: bytes[bytes.count - 1] ^= 1
      case 1: bytes.removeLast()
      default: bytes = Data("nonsense".utf8)
      }
      try bytes.write(to: file)
      let reply = try await session.data(for: "a")
      #expect(reply.metrics.cacheUse == nil && reply.text == "\(damage + 2)")
      #expect(try await session.data(for: "a").metrics.cacheUse == .hit)
    }
  }

  @Test func `a full disk and one that cannot be written to cost the cache, and no call`() async throws {
    let body = String(repeating: "x", count: 300_000)
    let origin = try CacheOrigin { head in
      head.contains("If-None-Match")
        ? CacheOrigin.answer("304 Not Modified", "ETag: \"other\"")
        : CacheOrigin.answer(
          "200 OK", "Cache-Control: max-age=0", "ETag: \"1\"", body: head.contains("/large") ? body : "x")
    }
    let disk = origin.place.file("cache")
    try origin.place.makeFolder("cache")
    try Programs.run(["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "netwatch-test", disk])
    defer { _ = try? Programs.run(["umount", "-l", disk]) }
    let session = try origin.session()
    for _ in 0..<2 {
      let reply = try await session.data(for: "large")
      #expect(reply.text == body && reply.metrics.cacheUse == nil)
    }
    #expect(try await session.data(for: "a").text == "x")
    _ = await session.configuration.cache?.currentSize
    try Programs.run(["mount", "-o", "remount,ro", disk])
    // The server's 304 does not confirm the stored answer, which cannot be removed from a read-only disk. Each call
    // makes one request for the whole answer after that, and no further ones.
    let before = origin.requests.count
    for _ in 0..<2 {
      let reply = try await session.data(for: "a")
      #expect(reply.text == "x" && reply.metrics.cacheUse == nil)
    }
    #expect(origin.requests.count == before + 4)
    #expect(try await session.data(for: "b").text == "x")
    #expect(try await session.data(for: "a", options: .policy(.prefersCache)).metrics.cacheUse == .hit)
  }

  // MARK: Other processes

  @Test func `sessions of two processes share a folder, and get only whole answers`() async throws {
    let origin = try CacheOrigin { head in
      let name = String(head.dropFirst(5).prefix { $0 != " " })
      return CacheOrigin.answer("200 OK", "Cache-Control: max-age=1", body: String(repeating: name, count: 50_000))
    }
    async let other = #expect(processExitsWith: .success) {
      [url = origin.server.url as URL, path = origin.place.file("cache") as String] in
      try await CacheOrigin.useAtRandom(url, path, seed: 1)
    }
    for seed in 2...3 {
      try await CacheOrigin.useAtRandom(origin.server.url, origin.place.file("cache"), seed: UInt64(seed))
    }
    _ = await other
    #expect(origin.requests.count > 20 && origin.requests.count < 900)
  }

  @Test func `sessions that are killed while they store leave answers that are whole`() async throws {
    let body = String(repeating: "0123456789abcdef", count: 30_000)
    let origin = try CacheOrigin { _ in CacheOrigin.answer("200 OK", CacheOrigin.fresh, body: body) }
    for round in 0..<6 {
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [url = origin.server.url as URL, path = origin.place.file("cache") as String, round = round as Int] in
        var configuration = HTTPSessionConfiguration()
        configuration.cache = try HTTPDiskCache(folder: URL(filePath: path))
        let session = try HTTPSessionManager(baseURL: url, configuration: configuration)
        // The process is killed in the middle of the body of one of the first answers. A part of that body may have
        // been stored.
        for number in 0... {
          _ = try await session.data(
            for: "\(number % 5)",
            options: .with {
              $0.cachePolicy = .ignoresCache
              ($0.progressInterval, $0.executor) = (.zero, .immediate)
              $0.onProgress = { if number == round, $0.received > Int64(round) * 70_000 { kill(getpid(), SIGKILL) } }
            })
        }
      }
    }
    let session = try origin.session()
    for number in 0..<5 {
      #expect(try await session.data(for: "\(number)", options: .policy(.prefersCache)).text == body)
    }
    // When the cache answers, it has stored the last answer.
    _ = await session.configuration.cache?.currentSize
    let names = try FileManager.default.contentsOfDirectory(atPath: origin.place.file("cache"))
    #expect(names.count == 5)
    #expect(names.allSatisfy { $0.hasSuffix(".answer") })
  }
}

/// An interceptor that never wants a request to be repeated, and counts how often it is asked.
private struct RepetitionCounter: RequestInterceptor {
  let asked: Box<Int>

  func retry(_ attempt: HTTPFailedAttempt) async -> RetryDecision {
    asked.change { $0 += 1 }
    return .next
  }
}
