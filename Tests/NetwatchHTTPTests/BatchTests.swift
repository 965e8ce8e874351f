import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetwatchHTTP

@Suite(.timeLimit(.minutes(5))) struct BatchTests {
  private let server: NginxServer
  private let session: HTTPSessionManager
  private let observer = RecordingObserver()

  init() throws {
    server = try NginxServer(server: "location /slow/ { alias files/; limit_rate 1k; }")
    session = try HTTPSessionManager(baseURL: server.url, observer: observer)
    try server.serve(String(repeating: "x", count: 100_000), as: "large.txt")
  }

  private func requests(_ paths: [String]) throws -> [HTTPRequest] {
    try paths.map { try HTTPRequest(.get, to: session.url(for: $0)) }
  }

  @Test func `500 requests have one completion, and a failure hides no other`() async throws {
    let progress = Box<[HTTPBatchProgress]>([])
    let nobody = try LoopbackPort()
    defer { withExtendedLifetime(nobody) {} }
    let paths = (0..<500).map { index in
      index % 7 == 3 ? "http://127.0.0.1:\(nobody.number)/" : index % 7 == 5 ? "missing" : "arguments?\(index)"
    }
    let results = await session.batch(try requests(paths), limit: 8) { value in progress.change { $0.append(value) } }
    #expect(results.count == 500)
    for (index, result) in results.enumerated() {
      switch result {
      case .success(let reply):
        let text = String(decoding: reply.value, as: UTF8.self)
        #expect(text == (index % 7 == 5 ? "not here" : "\(index)"))
      case .failure(let error):
        #expect(index % 7 == 3 && error.kind == .cannotConnect)
      }
    }
    #expect(progress.now.map(\.finished) == Array(1...500))
    #expect(progress.now.last?.failed == (0..<500).filter { $0 % 7 == 3 }.count)
  }

  @Test(arguments: [-1, 1, 3, 16]) func `no more than the limit run at once, in their order`(limit: Int) async throws {
    let (running, most, begun) = (Box(0), Box(0), Box<[String]>([]))
    var configuration = HTTPSessionConfiguration()
    configuration.maximumConnectionsPerHost = 100
    configuration.transport = ScriptedTransport { request, _ in
      begun.change { $0.append(request.path ?? "") }
      running.change { $0 += 1 }
      most.change { $0 = max($0, running.now) }
      await Task.yield()
      running.change { $0 -= 1 }
      return HTTPTransportAnswer()
    }
    let session = try HTTPSessionManager(baseURL: URL(string: "http://example.org"), configuration: configuration)
    let results = await session.batch((0..<100).map { "\($0)" }, limit: limit)
    #expect(results.count == 100)
    #expect(results.allSatisfy { (try? $0.get()) != nil })
    #expect(most.now <= max(limit, 1))
    #expect(Set(begun.now) == Set((0..<100).map { "/\($0)" }))
    if limit <= 1 { #expect(begun.now == (0..<100).map { "/\($0)" }) }
  }

  @Test func `calls are serialized, and a status is a failure of one`() async throws {
    let calls = ["arguments?a", "missing", "arguments?b"].map { HTTPCall(.get, $0) }
    let results = await withCheckedContinuation { continuation in
      session.batch(calls, as: HTTPResponseSerializer()) { continuation.resume(returning: $0) }
    }
    let texts = results.map { result in (try? result.get()).map { String(decoding: $0.value, as: UTF8.self) } }
    #expect(texts == ["a", nil, "b"])
    guard case .failure(let error) = results[1] else { return }
    #expect(error.kind == .badServerResponse)
  }

  @Test func `a cancelled batch ends all that is not over, once`() async throws {
    let paths = (0..<50).map { $0 < 3 ? "method" : "slow/large.txt" }
    let progress = Box(0)
    let ends = Box<[[String]]>([])
    let batch = session.batch(
      try requests(paths), limit: 4,
      progress: { value in progress.change { $0 = value.finished } },
      completion: { results in
        let words = results.map { result in
          switch result {
          case .success: "success"
          case .failure(let error): error.kind.description
          }
        }
        ends.change { $0.append(words) }
      })
    try await eventually(progress.now) { $0 >= 3 }
    batch.cancel()
    batch.cancel()
    let all = try await eventually(ends.now) { !$0.isEmpty }
    #expect(all == [Array(repeating: "success", count: 3) + Array(repeating: "cancelled", count: 47)])
    #expect(progress.now == 50)
    try await eventually(observer.all.count) { $0 == 14 }
  }

  @Test func `an awaited batch is cancelled with its task`() async throws {
    let (session, requests) = (session, try requests(Array(repeating: "slow/large.txt", count: 10)))
    let waiting = Task { await session.batch(requests) }
    _ = try await observer.first(6)
    waiting.cancel()
    #expect(await waiting.value.allSatisfy { (try? $0.get()) == nil })
  }

  @Test func `a batch ends with its session, and before it is done`() async throws {
    let ends = Box<[Int]>([])
    session.batch(try requests(Array(repeating: "slow/large.txt", count: 100))) { results in
      ends.change { $0.append(results.count) }
    }
    session.invalidate()
    await session.waitUntilInvalidated()
    #expect(ends.now == [100])
  }

  @Test func `a batch that is over holds nothing of its caller's`() async throws {
    final class Owner: Sendable {
      let batch = Box<HTTPBatch?>(nil)
      let isDone = Box(false)
    }
    var owner: Owner? = Owner()
    weak let weakOwner = owner
    let isDone = owner?.isDone
    if let owner {
      let batch = session.batch(try requests(["method", "missing"]), progress: { _ in _ = owner.batch }) { _ in
        owner.isDone.change { $0 = true }
      }
      owner.batch.change { $0 = batch }
    }
    try await eventually(isDone?.now) { $0 == true }
    owner = nil
    try await eventually(weakOwner == nil) { $0 }
  }

  @Test func `a batch of nothing is complete, and later`() async throws {
    #expect(await session.batch([]).isEmpty)
  }

  @Test func `an executor that runs at once does no harm`() async throws {
    var options = HTTPTaskOptions()
    options.executor = .immediate
    let ends = Box<[Int]>([])
    let batch = Box<HTTPBatch?>(nil)
    let made = session.batch(
      try requests(Array(repeating: "method", count: 40)), options: options,
      progress: { value in if value.finished == 20 { batch.now?.cancel() } },
      completion: { results in ends.change { $0.append(results.count) } })
    batch.change { $0 = made }
    #expect(try await eventually(ends.now) { !$0.isEmpty } == [40])
  }

  @Test func `a batch has begun when the call returns`() async throws {
    for _ in 0..<30 {
      let session = try HTTPSessionManager(baseURL: server.url)
      let ends = Box<[Bool]>([])
      session.batch(["method", "method"]) { results in
        ends.change { $0 = results.map { (try? $0.get()) != nil } }
      }
      session.finishTasksAndInvalidate()
      await session.waitUntilInvalidated()
      #expect(ends.now == [true, true])
    }
  }

  @Test func `an executor that drops the calls of a batch holds nothing up`() async throws {
    var options = HTTPTaskOptions()
    options.executor = HTTPExecutor { _ in }
    session.batch(["method", "missing"], options: options, completion: { _ in })
    session.finishTasksAndInvalidate()
    await session.waitUntilInvalidated()
  }

  @Test func `an empty batch ends after the caller has it`() async throws {
    let session = try HTTPSessionManager()
    let (order, ended) = (Box<[String]>([]), Gate())
    _ = session.batch([], options: .with { $0.executor = .immediate }) { results in
      ended.pass()
      order.change { $0.append("ended \(results.count)") }
    }
    order.change { $0.append("returned") }
    ended.open()
    try await eventually(order.now) { $0 == ["returned", "ended 0"] }
  }
}
