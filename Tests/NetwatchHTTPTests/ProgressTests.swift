import Foundation
import HTTPTypes
import Netwatch
import Testing

@testable import NetwatchHTTP

/// Tests of when progress is reported, and that no report comes too late.
@Suite(.timeLimit(.minutes(5))) struct ProgressTests {
  private static func progress(_ count: Int64) -> HTTPProgress {
    var progress = HTTPProgress()
    progress.received = count
    return progress
  }

  @Test func `a fraction is that of the bytes of both bodies, if their number is known, and says so to people`() {
    let cases: [(Int64, Int64?, Int64, Int64?, Double?, String)] = [
      (0, nil, 0, nil, nil, "no bytes yet"),
      (0, nil, 50, 200, 0.25, "25 %, 50 B of 200 B received"),
      (0, nil, 50, nil, nil, "50 B received"),
      (50, 200, 0, nil, 0.25, "25 %, 50 B of 200 B sent"),
      (200, 200, 0, 600, 0.25, "25 %, 200 B of 200 B sent, 0 B of 600 B received"),
      (50, nil, 0, nil, nil, "50 B sent"),
      (50, nil, 10, 100, nil, "50 B sent, 10 B of 100 B received"),
      (200, 200, 10, nil, nil, "200 B of 200 B sent, 10 B received"),
      (0, nil, 0, 0, 1, "100 %"),
      (0, 0, 0, nil, nil, "no bytes yet"),
      (0, nil, 999_999, 1_000_000, 0.999999, "99 %, 999 kB of 1.0 MB received"),
      (0, nil, 300, 200, 1, "100 %, 300 B of 200 B received"),
      (.max, .max, .max, .max, 1, "100 %, 9.2 EB of 9.2 EB sent, 9.2 EB of 9.2 EB received"),
    ]
    for (sent, totalToSend, received, totalToReceive, fraction, text) in cases {
      var progress = HTTPProgress()
      (progress.sent, progress.totalToSend) = (sent, totalToSend)
      (progress.received, progress.totalToReceive) = (received, totalToReceive)
      #expect(progress.fraction == fraction)
      #expect("\(progress)" == text)
    }
  }

  @Test func `reports keep their distance, and the last one comes before the job behind it`() {
    let calls = Box<[String]>([])
    let time = Box(Duration.seconds(100))
    var options = HTTPTaskOptions()
    options.executor = .immediate
    options.progressInterval = .milliseconds(80)
    options.onProgress = { progress in calls.change { $0.append("\(progress.received)") } }
    let queue = CallbackQueue(options, now: { time.now })
    for step in 1...30 {
      queue.report(Self.progress(Int64(step)))
      time.change { $0 += .milliseconds(10) }
    }
    #expect(calls.now == ["1", "9", "17", "25"])
    queue.append { calls.change { $0.append("end") } }
    #expect(calls.now == ["1", "9", "17", "25", "30", "end"])
  }

  @Test func `while a report runs, one more waits, with the newest figures`() {
    let jobs = Box<[HTTPExecutor.Job]>([])
    let calls = Box<[Int64]>([])
    var options = HTTPTaskOptions()
    options.progressInterval = .zero
    options.executor = HTTPExecutor { job in jobs.change { $0.append(job) } }
    let queue = Box<CallbackQueue?>(nil)
    options.onProgress = { progress in
      calls.change { $0.append(progress.received) }
      if progress.received == 1 { for step in 2...9 { queue.now?.report(Self.progress(Int64(step))) } }
    }
    queue.change { $0 = CallbackQueue(options, now: { .zero }) }
    queue.now?.report(Self.progress(1))
    #expect(jobs.now.count == 1)
    jobs.now[0]()
    #expect(calls.now == [1, 9])
    queue.change { $0 = nil }
  }

  private static func server() throws -> ScriptedServer {
    try ScriptedServer { connection, _ in
      let body = Data(repeating: 1, count: 200_000)
      while connection.readHead() != nil {
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
        guard connection.write(body) else { return }
      }
    }
  }

  /// Returns options with a slow executor, which makes a late report likely if there is one.
  private static func options(_ last: Box<Int64>, _ late: Box<Int>, _ isOver: Box<Bool>) -> HTTPTaskOptions {
    var options = HTTPTaskOptions()
    options.progressInterval = .zero
    options.executor = HTTPExecutor { job in
      DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(200), execute: job)
    }
    options.onProgress = { progress in
      if isOver.now { late.change { $0 += 1 } }
      last.change { $0 = progress.received }
    }
    return options
  }

  /// Makes a hundred calls of a session, one after the other. Expects that the last report of each call is complete,
  /// and that none comes after the end of the call.
  private static func check(
    _ call: (HTTPSessionManager, HTTPRequest, HTTPTaskOptions) async throws -> Void
  ) async throws {
    let server = try server()
    defer { server.stop() }
    let session = try HTTPSessionManager()
    let request = try HTTPRequest(.get, to: server.url)
    let late = Box(0)
    for _ in 0..<100 {
      let (last, isOver) = (Box<Int64>(0), Box(false))
      try await call(session, request, options(last, late, isOver))
      isOver.change { $0 = true }
      #expect(last.now == 200_000)
    }
    session.invalidate()
    await session.waitUntilInvalidated()
    #expect(late.now == 0)
  }

  @Test func `none comes after an awaited call has returned, and the last one says all`() async throws {
    try await Self.check { session, request, options in _ = try await session.data(for: request, options: options) }
  }

  @Test func `none comes after a stream has ended`() async throws {
    try await Self.check { session, request, options in
      for try await _ in try await session.stream(request, options: options).body {}
    }
  }

  @Test func `an awaited call returns though its executor drops what it is given`() async throws {
    let server = try Self.server()
    defer { server.stop() }
    var options = HTTPTaskOptions()
    options.executor = HTTPExecutor { _ in }
    options.onProgress = { _ in }
    let reply = try await HTTPSessionManager().data(for: HTTPRequest(.get, to: server.url), options: options)
    #expect(reply.value.count == 200_000)
  }
}
