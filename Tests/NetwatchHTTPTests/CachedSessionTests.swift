import Foundation
import HTTPTypes
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

/// Tests of a session with a cache: what it requests from the server, and what the caller gets.
@Suite(.timeLimit(.minutes(5))) struct CachedSessionTests {
  // MARK: Policies

  @Test func `a fresh answer is used without the server, by its session and by another one`() async throws {
    let origin = try CacheOrigin.counting(CacheOrigin.fresh)
    let session = try origin.session()
    let first = try await session.data(for: "a")
    #expect(first.text == "1" && first.metrics.cacheUse == nil)
    _ = await session.configuration.cache?.currentSize
    for session in [session, try origin.session()] {
      let reply = try await session.data(for: "a")
      #expect(reply.text == "1" && reply.metrics.cacheUse == .hit && reply.response.status == .ok)
      #expect(reply.response.headerFields[.age] != nil && reply.metrics.bytesReceived == 0)
    }
    #expect(try await session.data(for: "b").text == "2")
    #expect(origin.requests.count == 2)
  }

  @Test func `a stale answer is validated, and gets the head of the 304`() async throws {
    let origin = try CacheOrigin.counting("Cache-Control: max-age=0")
    let session = try origin.session()
    _ = try await session.data(for: "a")
    for number in 2...3 {
      let reply = try await session.data(for: "a")
      #expect(reply.text == "1" && reply.metrics.cacheUse == .validated && reply.response.status == .ok)
      #expect(reply.response.headerFields[HTTPField.Name("X-New")!] == "\(number)")
      #expect(reply.request.headerFields[.ifNoneMatch] == nil)
    }
    #expect(origin.requests.count == 3)
  }

  @Test(arguments: [false, true], ["", "Content-Encoding: gzip"])
  func `what a POST has changed is asked for, also if a redirect leads to it`(
    _ isAsked: Bool, _ coding: String
  ) async throws {
    let origin = try CacheOrigin { head in
      head.hasPrefix("POST")
        ? CacheOrigin.answer("303 See Other", "Location: /a", coding.isEmpty ? "X-Coding: none" : coding)
        : CacheOrigin.answer("200 OK", CacheOrigin.fresh, body: "list")
    }
    let session = try origin.session {
      if isAsked { $0.taskOptions.onRedirect = { $0.next } }
    }
    _ = try await session.data(for: "a")
    _ = await session.configuration.cache?.currentSize
    let reply = try await session.upload(.text("x"), with: "a")
    #expect(reply.text == "list" && reply.metrics.cacheUse == nil)
    #expect(origin.requests.count == 3)
  }

  /// Checks that a response on its way is not stored after everything was removed: it may belong to a user who has
  /// logged out.
  @Test(arguments: [true, false]) func `what was on its way when all was removed is not there afterwards`(
    _ isValidated: Bool
  ) async throws {
    let gate = Box<Gate?>(nil)
    let origin = try CacheOrigin { head in
      gate.now?.pass()
      return head.contains("If-None-Match")
        ? CacheOrigin.answer("304 Not Modified", CacheOrigin.fresh)
        : CacheOrigin.answer("200 OK", CacheOrigin.fresh, "ETag: \"1\"", body: "mine")
    }
    let session = try origin.session()
    let cache = try #require(session.configuration.cache)
    if isValidated {
      _ = try await session.data(for: "me")
      #expect(await cache.currentSize > 0)
    }
    let closed = Gate()
    gate.change { $0 = closed }
    let task = Task { try await session.data(for: "me", options: .policy(.revalidates)) }
    let count = isValidated ? 2 : 1
    try await eventually(origin.requests.count) { $0 == count }
    await cache.removeAll()
    closed.open()
    #expect(try await task.value.text == "mine")
    #expect(await cache.currentSize == 0)
    #expect(try await session.data(for: "me").metrics.cacheUse == nil)
  }

  @Test func `each policy asks the server as it says`() async throws {
    let origin = try CacheOrigin.counting("Cache-Control: max-age=600")
    let session = try origin.session()
    let missing = try await session.data(for: "a", options: .policy(.requiresCache))
    #expect(missing.response.status == .gatewayTimeout && missing.metrics.cacheUse == .miss)
    #expect(origin.requests.isEmpty)
    _ = try await session.data(for: "a", options: .policy(.prefersCache))
    #expect(origin.requests.count == 1)
    let validated = try await session.data(for: "a", options: .policy(.revalidates))
    #expect(validated.text == "1" && validated.metrics.cacheUse == .validated && origin.requests.count == 2)
    // The fields of the 304 were stored with the answer.
    let refreshed = try await session.data(for: "a")
    #expect(refreshed.metrics.cacheUse == .hit && refreshed.response.headerFields[HTTPField.Name("X-New")!] == "2")
    let loaded = try await session.data(for: "a", options: .policy(.ignoresCache))
    #expect(loaded.text == "3" && loaded.metrics.cacheUse == nil && origin.requests.count == 3)
    // The answer that was loaded has replaced the stored one.
    let kept = try await session.data(for: "a", options: .policy(.requiresCache))
    #expect(kept.text == "3" && kept.metrics.cacheUse == .hit)
    let posted = try await session.upload(.text("x"), with: "a", options: .policy(.requiresCache))
    #expect(posted.response.status == .gatewayTimeout && origin.requests.count == 3)
  }

  @Test(arguments: [true, false]) func `caches on the way are asked to ask the server`(_ hasCache: Bool) async throws {
    let origin = try CacheOrigin.counting("Cache-Control: max-age=600")
    let session = try hasCache ? origin.session() : HTTPSessionManager(baseURL: origin.server.url)
    _ = try await session.data(for: "a")
    let reply = try await session.data(for: "a", options: .policy(.ignoresAllCaches))
    #expect(reply.text == "2" && reply.metrics.cacheUse == nil)
    let own = HTTPCall(.get, "a", headerFields: [.cacheControl: "max-age=0"])
    _ = try await session.data(for: own, options: .policy(.ignoresAllCaches))
    let fields = origin.requests.map { head in
      head.split(separator: "\r\n").map { $0.lowercased() }.filter {
        $0.hasPrefix("cache-control") || $0.hasPrefix("pragma") || $0.hasPrefix("if-")
      }.sorted()
    }
    #expect(fields == [[], ["cache-control: no-cache", "pragma: no-cache"], ["cache-control: max-age=0"]])
  }

  @Test func `prefersCache and requiresCache use a stale answer`() async throws {
    let origin = try CacheOrigin.counting("Cache-Control: max-age=0")
    let session = try origin.session()
    _ = try await session.data(for: "a")
    for policy in [HTTPCachePolicy.prefersCache, .requiresCache] {
      #expect(try await session.data(for: "a", options: .policy(policy)).metrics.cacheUse == .hit)
    }
    #expect(origin.requests.count == 1)
  }

  @Test func `Cache-Control in the request is obeyed`() async throws {
    let origin = try CacheOrigin.counting(CacheOrigin.fresh)
    let session = try origin.session()
    _ = try await session.data(for: "a")
    func reply(_ fields: HTTPFields) async throws -> HTTPReply<Data> {
      var request = try HTTPRequest(.get, to: origin.server.url.appending(path: "a"))
      request.headerFields = fields
      return try await session.data(for: request)
    }
    #expect(try await reply([.cacheControl: "no-cache"]).metrics.cacheUse == .validated)
    #expect(try await reply([.cacheControl: "no-store"]).metrics.cacheUse == nil)
    #expect(try await reply([.cacheControl: "only-if-cached"]).metrics.cacheUse == .hit)
    let old = try await reply([.cacheControl: "only-if-cached, min-fresh=601"])
    #expect(old.response.status == .gatewayTimeout && old.metrics.cacheUse == .miss)
    #expect(try await reply([.range: "bytes=0-1"]).metrics.cacheUse == nil)
    // A condition of the caller is sent unchanged, and the caller gets the answer to it.
    let own = try await reply([.ifNoneMatch: "\"1\""])
    #expect(own.response.status == .notModified && own.metrics.cacheUse == nil)
    #expect(origin.requests.count == 5)
  }

  // MARK: Answers

  @Test func `Vary and HEAD are looked at`() async throws {
    let origin = try CacheOrigin { head in
      let language = head.contains("Accept-Language: de") ? "de" : "en"
      let answer = CacheOrigin.answer(
        "200 OK", CacheOrigin.fresh, "Vary: Accept-Language", "ETag: \"\(language)\"", body: language)
      return head.hasPrefix("HEAD") ? answer.replacing("\r\n\r\n\(language)", with: "\r\n\r\n") : answer
    }
    let session = try origin.session()
    func get(_ language: String, _ method: HTTPRequest.Method = .get) async throws -> HTTPReply<Data> {
      var request = try HTTPRequest(method, to: origin.server.url.appending(path: "a"))
      request.headerFields[.acceptLanguage] = language
      return try await session.data(for: request)
    }
    #expect(try await get("de").text == "de")
    #expect(try await get("de").metrics.cacheUse == .hit)
    let head = try await get("de", .head)
    #expect(head.metrics.cacheUse == .hit && head.value.isEmpty && head.response.headerFields[.eTag] == "\"de\"")
    let other = try await get("en")
    #expect(other.text == "en" && other.metrics.cacheUse == nil)
    #expect(origin.requests.count == 2)
    // The answers for both languages are stored beside each other.
    for language in ["de", "en"] {
      let reply = try await get(language)
      #expect(reply.text == language && reply.metrics.cacheUse == .hit)
    }
  }

  @Test func `the answer to a HEAD shows that a stored one is outdated`() async throws {
    let tag = Box(1)
    let origin = try CacheOrigin { head in
      CacheOrigin.answer("200 OK", "Cache-Control: max-age=0", "ETag: \"\(tag.now)\"", body: "")
    }
    let session = try origin.session()
    func head() async throws {
      _ = try await session.data(for: HTTPRequest(.head, to: origin.server.url.appending(path: "a")))
    }
    _ = try await session.data(for: "a")
    try await head()
    #expect(try await session.data(for: "a", options: .policy(.requiresCache)).metrics.cacheUse == .hit)
    tag.change { $0 = 2 }
    try await head()
    #expect(try await session.data(for: "a", options: .policy(.requiresCache)).metrics.cacheUse == .miss)
    #expect(origin.requests.count == 3)
  }

  @Test func `the caller decides what is stored, for the session and for a task`() async throws {
    let origin = try CacheOrigin.counting("Cache-Control: no-cache")
    let asked = Box<[String]>([])
    let session = try origin.session { configuration in
      configuration.taskOptions.onCaching = { request, response in
        asked.change { $0.append("\(request.path ?? "") \(response.status.code)") }
        var response = response
        response.headerFields[.cacheControl] = "max-age=600"
        return response
      }
    }
    let first = try await session.data(for: "a")
    #expect(first.response.headerFields[.cacheControl] == "no-cache")
    let hit = try await session.data(for: "a")
    #expect(hit.metrics.cacheUse == .hit && hit.response.headerFields[.cacheControl] == "max-age=600")
    // After a 304, the field that the caller has stored still counts, not the field that the server sends.
    let validated = try await session.data(for: "a", options: .policy(.revalidates))
    #expect(validated.metrics.cacheUse == .validated && validated.text == "1")
    #expect(try await session.data(for: "a").metrics.cacheUse == .hit)
    #expect(asked.now == ["/a 200", "/a 200"] && origin.requests.count == 2)
    let none = HTTPTaskOptions.with { $0.onCaching = { _, _ in nil } }
    _ = try await session.data(for: "b", options: none)
    #expect(try await session.data(for: "b", options: .policy(.requiresCache)).metrics.cacheUse == .miss)
    _ = try await session.data(for: "a", options: none.merged(with: .policy(.ignoresCache)))
    #expect(try await session.data(for: "a", options: .policy(.requiresCache)).metrics.cacheUse == .miss)
    #expect(asked.now.count == 2)
  }

  @Test func `nobody is asked about what is not stored, and no-store stays`() async throws {
    let origin = try CacheOrigin { head in
      CacheOrigin.answer("200 OK", head.contains("/b") ? "Cache-Control: no-store" : CacheOrigin.fresh, body: "x")
    }
    let asked = Box(0)
    let session = try origin.session { configuration in
      configuration.taskOptions.onCaching = { _, response in
        asked.change { $0 += 1 }
        return response
      }
    }
    _ = try await session.upload(.text("x"), with: "a")
    _ = try await session.data(for: HTTPRequest(.get, to: origin.server.url, headerFields: [.range: "bytes=0-0"]))
    #expect(asked.now == 0)
    _ = try await session.data(for: "b")
    #expect(try await session.data(for: "b", options: .policy(.requiresCache)).metrics.cacheUse == .miss)
    #expect(asked.now == 1)
  }

  @Test func `what depends on a credential that libcurl adds is not stored`() async throws {
    let origin = try CacheOrigin { head in
      let user = head.contains("Authorization: Basic YTph") ? "a" : "b"
      return CacheOrigin.answer("200 OK", CacheOrigin.fresh, "Vary: Authorization", body: user)
    }
    let session = try origin.session()
    for user in ["a", "b", "a"] {
      let options = HTTPTaskOptions.with { $0.credential = HTTPCredential(user: user, password: user, scheme: .basic) }
      #expect(try await session.data(for: "a", options: options).text == user)
    }
    #expect(origin.requests.count == 3)
  }

  @Test func `what depends on the session's User-Agent is for sessions with the same one`() async throws {
    let origin = try CacheOrigin.counting("\(CacheOrigin.fresh)\r\nVary: User-Agent")
    for (agent, use) in [("x", nil), ("x", HTTPCacheUse.hit), ("y", nil)] {
      let session = try origin.session { $0.userAgent = agent }
      #expect(try await session.data(for: "a").metrics.cacheUse == use)
      // Another cache finds the answer only after this one has stored it.
      _ = await session.configuration.cache?.currentSize
    }
  }

  @Test func `a policy that never asks the server waits for no path`() async throws {
    let origin = try CacheOrigin.counting(CacheOrigin.fresh)
    let first = try origin.session()
    _ = try await first.data(for: "a")
    var configuration = first.configuration
    configuration.taskOptions.reachabilityTimeout = .seconds(300)
    let session = try HTTPSessionManager(
      baseURL: origin.server.url, configuration: configuration, path: ScriptedPath(false))
    #expect(try await session.data(for: "a", options: .policy(.requiresCache)).metrics.cacheUse == .hit)
    #expect(try await session.data(for: "b", options: .policy(.requiresCache)).metrics.cacheUse == .miss)
  }

  @Test func `a task waits for a path if the cache has no answer to use`() async throws {
    let origin = try CacheOrigin { head in
      CacheOrigin.answer(
        "200 OK", head.hasPrefix("GET /old ") ? "Cache-Control: max-age=0, stale-if-error=600" : CacheOrigin.fresh,
        body: "x")
    }
    let path = ScriptedPath()
    var configuration = try origin.session().configuration
    configuration.taskOptions.reachabilityTimeout = .seconds(300)
    let session = try HTTPSessionManager(baseURL: origin.server.url, configuration: configuration, path: path)
    for name in ["a", "old"] { _ = try await session.data(for: name) }
    path.set(false)
    #expect(try await session.data(for: "a").metrics.cacheUse == .hit)
    let old = try await session.data(for: "old")
    #expect(old.metrics.cacheUse == .stale && old.metrics.furtherAttempts == 0)
    for kind in [(options: HTTPTaskOptions.policy(.standard), name: "b"), (.policy(.ignoresCache), "a")] {
      let error = await #expect(throws: HTTPError.self) {
        try await session.data(
          for: kind.name, options: kind.options.merged(with: .with { $0.reachabilityTimeout = .zero }))
      }
      #expect(error?.kind == .notReachable)
    }
    let task = Box<Result<HTTPReply<Data>, HTTPError>?>(nil)
    let waiting = session.dataTask("b") { result in task.change { $0 = result } }
    waiting.resume()
    try await eventually(waiting.state) { $0 == .waiting }
    #expect(origin.requests.count == 2)
    path.set(true)
    try await eventually(task.now) { $0 != nil }
    let reply = try #require(try task.now?.get())
    #expect(reply.text == "x" && reply.metrics.cacheUse == nil && reply.metrics.furtherAttempts == 0)
    #expect(origin.requests.count == 3)
  }

  @Test(arguments: [true, false]) func `the total time begins after the wait for the first path`(
    hasCache: Bool
  ) async throws {
    let origin = try CacheOrigin.counting(CacheOrigin.fresh)
    let path = ScriptedPath(false)
    var configuration = try origin.session().configuration
    if !hasCache { configuration.cache = nil }
    configuration.taskOptions.reachabilityTimeout = .seconds(300)
    let clock = ManualClock()
    let session = try HTTPSessionManager(
      baseURL: origin.server.url, configuration: configuration, path: path, threads: HTTPThreads(by: clock))
    let statuses = Box<[Int]>([])
    let waiting = session.dataTask("a", options: .with { $0.totalTimeout = .seconds(30) }) { result in
      statuses.change { $0.append((try? result.get().response.status.code) ?? 0) }
    }
    waiting.resume()
    try await eventually(waiting.state) { $0 == .waiting }
    let failures = Box<[HTTPError.Kind]>([])
    let other = session.dataTask("b", options: .with { $0.reachabilityTimeout = .seconds(31) }) { result in
      if case .failure(let error) = result { failures.change { $0.append(error.kind) } }
    }
    other.resume()
    try await eventually(other.state) { $0 == .waiting }
    await session.pass(.seconds(31), on: clock)
    try await eventually(failures.now) { $0 == [.notReachable] }
    #expect(waiting.state == .waiting)
    path.set(true)
    try await eventually(statuses.now) { !$0.isEmpty }
    #expect(statuses.now == [200])
  }

  @Test func `a task that wants another path gets what is stored, and waits for what is not`() async throws {
    let origin = try CacheOrigin.counting(CacheOrigin.fresh)
    let path = ScriptedPath()
    var configuration = try origin.session().configuration
    configuration.taskOptions.reachabilityTimeout = .seconds(300)
    configuration.taskOptions.requiredMedia = [.wifi]
    let session = try HTTPSessionManager(baseURL: origin.server.url, configuration: configuration, path: path)
    path.set(true, medium: .wifi)
    _ = try await session.data(for: "a")
    path.set(true, medium: .wwan)
    #expect(try await session.data(for: "a").metrics.cacheUse == .hit)
    let task = Box<Result<HTTPReply<Data>, HTTPError>?>(nil)
    let waiting = session.dataTask("b") { result in task.change { $0 = result } }
    waiting.resume()
    try await eventually(waiting.state) { $0 == .waiting }
    #expect(origin.requests.count == 1)
    path.set(true, medium: .wifi)
    try await eventually(task.now) { $0 != nil }
    let reply = try #require(try task.now?.get())
    #expect(reply.text == "2" && reply.allMetrics.count == 1 && reply.metrics.furtherAttempts == 0)
  }

  @Test func `a downloader's policy is also for the session's cache`() async throws {
    let origin = try CacheOrigin.counting(CacheOrigin.fresh)
    let session = try origin.session()
    for (policy, use) in [(HTTPCachePolicy.standard, nil), (.standard, HTTPCacheUse.hit), (.ignoresCache, nil)] {
      let downloader = Downloader(session: session, as: HTTPResponseSerializer())
      #expect(try await downloader.value(for: "a", policy: policy).metrics.cacheUse == use)
    }
  }

  @Test func `each hop of a redirect is looked up`() async throws {
    let origin = try CacheOrigin { head in
      head.hasPrefix("GET /a ")
        ? CacheOrigin.answer("301 Moved", CacheOrigin.fresh, "Location: /b", body: "moved")
        : CacheOrigin.answer("200 OK", CacheOrigin.fresh, body: "here")
    }
    let session = try origin.session()
    for use in [nil, HTTPCacheUse.hit] {
      let reply = try await session.data(for: "a")
      #expect(reply.text == "here" && reply.metrics.cacheUse == use && reply.request.path == "/b")
    }
    #expect(origin.requests.count == 2)
    _ = try await session.data(for: "b")
    #expect(origin.requests.count == 2)
  }

  @Test func `a method that changes something removes the answer, if it succeeds`() async throws {
    let isDown = Box(true)
    let origin = try CacheOrigin { head in
      head.hasPrefix("POST")
        ? CacheOrigin.answer(isDown.now ? "409 Conflict" : "201 Created", "Location: /b")
        : CacheOrigin.answer("200 OK", CacheOrigin.fresh, body: "x")
    }
    let session = try origin.session()
    for (isFailing, use) in [(true, HTTPCacheUse.hit), (false, nil)] {
      isDown.change { $0 = isFailing }
      for path in ["a", "b", "c"] { _ = try await session.data(for: path) }
      _ = try await session.upload(.text(""), with: "a")
      for path in ["a", "b"] { #expect(try await session.data(for: path).metrics.cacheUse == use) }
      #expect(try await session.data(for: "c").metrics.cacheUse == .hit)
    }
  }

  @Test func `an answer that may not be stored removes the older one`() async throws {
    let mayStore = Box(true)
    let origin = try CacheOrigin { _ in
      CacheOrigin.answer("200 OK", mayStore.now ? CacheOrigin.fresh : "Cache-Control: no-store", body: "x")
    }
    let session = try origin.session()
    _ = try await session.data(for: "a")
    mayStore.change { $0 = false }
    _ = try await session.data(for: "a", options: .policy(.ignoresCache))
    #expect(try await session.data(for: "a").metrics.cacheUse == nil)
    #expect(origin.requests.count == 3)
  }

  @Test func `a 304 about another answer asks again without a condition`() async throws {
    let origin = try CacheOrigin { head in
      head.contains("If-None-Match")
        ? CacheOrigin.answer("304 Not Modified", "ETag: \"other\"")
        : CacheOrigin.answer("200 OK", "Cache-Control: max-age=0", "ETag: \"1\"", body: "x")
    }
    let session = try origin.session()
    for _ in 0..<2 { #expect(try await session.data(for: "a").text == "x") }
    #expect(origin.requests.count == 3)
    #expect(!(origin.requests.last ?? "If-None-Match").contains("If-None-Match"))
  }

  @Test func `a stale answer stands in for a server in trouble, if it may`() async throws {
    let isUp = Box(true)
    let origin = try CacheOrigin { head in
      let allows = head.hasPrefix("GET /a ") ? ", stale-if-error=600" : ""
      return isUp.now
        ? CacheOrigin.answer("200 OK", "Cache-Control: max-age=0\(allows)", body: "x")
        : head.contains("gone") ? nil : CacheOrigin.answer("503 Trouble", body: String(repeating: "y", count: 200_000))
    }
    let session = try origin.session()
    _ = try await session.data(for: "a")
    _ = try await session.data(for: "b")
    isUp.change { $0 = false }
    let reply = try await session.data(for: "a")
    #expect(reply.text == "x" && reply.metrics.cacheUse == .stale && reply.response.status == .ok)
    #expect(try await session.data(for: "b").response.status.code == 503)
    origin.server.stop()
    #expect(try await session.data(for: "a").metrics.cacheUse == .stale)
    #expect(await #expect(throws: HTTPError.self) { try await session.data(for: "b") } != nil)
  }

  @Test func `a stale answer stands in for a server that does not answer in time`() async throws {
    let (isUp, hold) = (Box(true), DispatchSemaphore(value: 0))
    let origin = try CacheOrigin { _ in
      if !isUp.now { hold.wait() }
      return CacheOrigin.answer("200 OK", "Cache-Control: max-age=0, stale-if-error=600", body: "x")
    }
    defer { hold.signal() }
    let clock = ManualClock()
    let session = try origin.session(by: clock)
    _ = try await session.data(for: "a")
    isUp.change { $0 = false }
    func wait(_ options: HTTPTaskOptions, _ count: Int) async throws -> Result<HTTPReply<Data>, any Error> {
      let waiting = Task { try await session.data(for: "a", options: options) }
      try await eventually(origin.requests.count) { $0 == count }
      await session.pass(.seconds(9), on: clock)
      return await waiting.result
    }
    let reply = try await wait(.with { $0.timeout = .seconds(9) }, 2).get()
    #expect(reply.text == "x" && reply.metrics.cacheUse == .stale)
    // The time for the whole task is over, so the task does not get a stale answer either.
    let late = try await wait(.with { $0.totalTimeout = .seconds(9) }, 3)
    #expect(throws: HTTPError.self) { try late.get() }
    if case .failure(let error as HTTPError) = late { #expect(error.kind == .timedOut) }
    hold.signal()
  }

  @Test func `a stale answer that takes the place of an error does not wait for the end of that error`() async throws {
    let server = try ScriptedServer { connection, number in
      while connection.readHead() != nil {
        connection.write(
          number == 0
            ? CacheOrigin.answer(
              "200 OK", "Cache-Control: max-age=0, stale-if-error=600\r\nConnection: close", body: "x")
            : "HTTP/1.1 503 Busy\r\nContent-Length: 10\r\n\r\nb")
      }
    }
    defer { server.stop() }
    final class Heads: HTTPEventObserver {
      let count = Box(0)
      func handle(_ event: HTTPEvent) { if case .received = event.kind { count.change { $0 += 1 } } }
    }
    let (place, clock, heads) = (try TemporaryFolder(), ManualClock(), Heads())
    let session = try CacheOrigin.session(server.url, place, by: clock) { $0.eventObservers = [heads] }
    _ = try await session.data(for: "a")
    let waiting = Task { try await session.data(for: "a", options: .with { $0.timeout = .seconds(9) }) }
    try await eventually(heads.count.now) { $0 == 2 }
    await session.pass(.seconds(9), on: clock)
    let reply = try await waiting.value
    #expect(reply.text == "x" && reply.metrics.cacheUse == .stale)
  }
}
