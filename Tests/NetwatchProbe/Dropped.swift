import Foundation
import Glibc
import Netwatch
import NetwatchNetlink

/// Starts and drops monitors of each kind many times, and prints what is left of them: descriptors, threads, and KiB of
/// memory.
enum Dropped {
  /// An actor that subscribes to a monitor with a closure that does not retain the actor.
  private actor Follower {
    private var subscription: CallbackSubscription?
    private var count = 0

    func follow(_ monitor: NetworkMonitor) {
      subscription = monitor.onChange { [weak self] _ in self?.assumeIsolated { $0.count += 1 } }
    }
  }

  static func run(_ count: Int) async throws {
    try await report("plain", count) { _ = try NetworkMonitor.start() }
    try await report("sharing", count) {
      let first = try NetworkMonitor.start()
      _ = try NetworkMonitor.start(target: NetworkTarget("10.0.0.2"), sharing: first)
    }
    try await report("followed", count) {
      let monitor = try NetworkMonitor.start()
      let subscriptions = [
        monitor.onChangeImmediately { _ in }, monitor.onChange(enqueue: { $0() }) { _ in },
      ]
      let follower = Follower()
      await follower.follow(monitor)
      var paths = monitor.paths.makeAsyncIterator()
      _ = try await paths.next()
      withExtendedLifetime(subscriptions) {}
    }
    // The test has written this name to the hosts file.
    try await report("host", count / 10) { _ = try NetworkMonitor.start(target: NetworkTarget("known.example")) }
  }

  private static func report(_ kind: String, _ count: Int, _ body: () async throws -> Void) async throws {
    // The first monitors cause allocations that stay, such as pools of threads and tables of libraries.
    for _ in 0..<max(count / 10, 10) { try await body() }
    let before = Leftovers.now()
    for _ in 0..<count { try await body() }
    let after = Leftovers.now()
    say(
      "\(kind) descriptors \(after.descriptors - before.descriptors) threads \(after.threads - before.threads) "
        + "memory \(after.memory - before.memory)")
  }
}

/// The resources that this process has when no thread of a monitor runs any more.
struct Leftovers {
  let descriptors: Int
  let threads: Int
  /// The anonymous memory of the process that is resident (RssAnon), in KiB.
  let memory: Int

  static func now() -> Leftovers {
    for _ in 0..<1_000 where Library.threadCount() > 0 { usleep(10_000) }
    let descriptors = (0..<4_096 as Range<CInt>).count { fcntl($0, F_GETFD) >= 0 }
    return Leftovers(descriptors: descriptors, threads: Library.threadCount(), memory: ownMemory())
  }

  private static func ownMemory() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
    return line?.split { $0.isWhitespace }.dropFirst().first.flatMap { Int($0) } ?? -1
  }
}
