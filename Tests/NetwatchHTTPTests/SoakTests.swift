import Foundation
import HTTPTypes
import Netwatch
import NetwatchTestSupport
import Synchronization
import Testing

@testable import NetwatchHTTP

/// Tests of many requests with everything that can go wrong, at random. `NETWATCH_SOAK_REQUESTS=100000` makes the test
/// long.
@Suite struct SoakTests {
  private enum Fate: CaseIterable { case none, cancelled, cancelledSoon, suspended, suspendedAndCancelled, dropped }

  /// An observer that checks that each request begins once and ends once.
  private final class BalanceObserver: RequestObserver {
    private let running = Lock<Set<RequestID>>([])
    private let faults = Atomic(0)

    func began(_ id: RequestID, isIndicated: Bool) {
      if !running.withLock({ $0.insert(id).inserted }) { faults.add(1, ordering: .relaxed) }
    }

    func ended(_ id: RequestID) {
      if running.withLock({ $0.remove(id) }) == nil { faults.add(1, ordering: .relaxed) }
    }

    var isBalanced: Bool { running.withLock { $0.isEmpty } && faults.load(ordering: .relaxed) == 0 }
  }

  private static let paths = ["kilo.txt", "method", "no-content", "missing", "gzip/kilo.txt", "kilo.txt", "kilo.txt"]
  private static let faults = ["reset", "half", "garbage", "drip", "endless", "silence"]

  private static func faultyServer() throws -> ScriptedServer {
    try ScriptedServer { connection, _ in
      guard let head = connection.readHead() else { return }
      switch head.split(separator: " ").dropFirst().first?.dropFirst() ?? "" {
      case "reset": connection.reset()
      case "half": connection.write("HTTP/1.1 200 OK\r\nContent-Le")
      case "garbage": connection.write(Data((0..<2_000).map { _ in .random(in: 0...255) }))
      case "drip":
        connection.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
        for _ in 0..<5 where connection.write(".") { try? connection.waitUntilRead() }
      case "endless":
        connection.write("HTTP/1.1 200 OK\r\n\r\n")
        while connection.write(Data(repeating: 1, count: 4_096)) {}
      default: connection.waitForEnd()
      }
    }
  }

  private static var descriptors: Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
  }

  private static var residentKiB: Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
    return Int(line.filter(\.isNumber)) ?? 0
  }

  private struct Bench: Sendable {
    let session: HTTPSessionManager
    let good: URL
    let bad: URL
    let counts: Mutexes
    let executor = DispatchQueue(label: "soak", attributes: .concurrent)

    /// Makes one request, treats it as its fate says, and waits for its completion.
    func request(_ number: Int) async throws {
      let isFaulty = Int.random(in: 0..<10) == 0
      let path = (isFaulty ? SoakTests.faults : SoakTests.paths).randomElement() ?? ""
      let request = try HTTPRequest(.get, to: (isFaulty ? bad : good).appending(path: path))
      var options = HTTPTaskOptions()
      options.maximumResponseBytes = 100_000
      options.timeout = .milliseconds(200)
      options.executor = HTTPExecutor { [executor] in executor.async(execute: $0) }
      if Bool.random() { options.onProgress = { _ in } }
      let fate: Fate = Bool.random() ? .none : Fate.allCases.randomElement() ?? .none
      await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
        let task = session.dataTask(request, options: options) { [counts] _ in
          if counts.add(number) == 1 { continuation.resume() }
        }
        guard fate != .dropped else { return }
        task.resume()
        switch fate {
        case .none, .dropped: break
        case .cancelled: task.cancel()
        case .cancelledSoon:
          executor.asyncAfter(deadline: .now() + .microseconds(.random(in: 0..<3_000))) { task.cancel() }
        case .suspended:
          task.suspend()
          executor.asyncAfter(deadline: .now() + .microseconds(.random(in: 0..<3_000))) { task.resume() }
        case .suspendedAndCancelled:
          task.suspend()
          executor.asyncAfter(deadline: .now() + .microseconds(.random(in: 0..<3_000))) { task.cancel() }
        }
      }
    }
  }

  private final class Mutexes: Sendable {
    private let counts: Lock<[UInt8]>
    init(_ count: Int) { counts = Lock(Array(repeating: 0, count: count)) }
    func add(_ index: Int) -> UInt8 {
      counts.withLock { counts in
        counts[index] += 1
        return counts[index]
      }
    }
    var all: [UInt8] { counts.withLock { $0 } }
  }

  @Test func `every request ends once, whatever is done to it, and nothing is left`() async throws {
    let total = ProcessInfo.processInfo.environment["NETWATCH_SOAK_REQUESTS"].flatMap { Int($0) } ?? 2_000
    let server = try NginxServer()
    try server.serve(String(repeating: "kilo", count: 256), as: "kilo.txt")
    let faulty = try Self.faultyServer()
    defer { faulty.stop() }
    let observer = BalanceObserver()
    // The first sleep of a process opens a timer of libdispatch, which stays open. If that happened later, the number
    // of descriptors would never fall to its first value.
    try await Task.sleep(for: .milliseconds(1))
    let descriptors = Self.descriptors
    var settled: Int?
    let counts = Mutexes(total)
    do {
      let bench = Bench(
        session: try HTTPSessionManager(observer: observer), good: server.url, bad: faulty.url, counts: counts)
      let part = 1_000
      for start in stride(from: 0, to: total, by: part) {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for worker in 0..<64 {
            group.addTask {
              for number in stride(from: start + worker, to: min(start + part, total), by: 64) {
                try await bench.request(number)
              }
            }
          }
          try await group.waitForAll()
        }
        if settled == nil, start + part >= 10_000 { settled = Self.residentKiB }
      }
      // Requests that still run at the end of the session are ended as well.
      let running = (0..<10).map { _ in
        bench.session.dataTask(HTTPRequest(url: faulty.url.appending(path: "silence"))) { _ in }
      }
      for task in running { task.resume() }
      bench.session.invalidate()
      await bench.session.waitUntilInvalidated()
    }
    #expect(counts.all.allSatisfy { $0 == 1 })
    #expect(observer.isBalanced)
    if let settled { #expect(Self.residentKiB < settled + 8 * 1_024, "from \(settled) KiB") }
    // Other tests run at the same time, so only a lasting excess of descriptors is a fault.
    if total >= 10_000 {
      try await eventually(Self.descriptors) { $0 <= descriptors }
    }
  }
}
