import Glibc
import Netwatch
import NetwatchNetlink

/// An app with several targets. All its monitors share the thread and the sockets of the first one. Each change prints
/// a line, and each line of stdin stops one monitor, the first one first.
enum Targets {
  static func run(_ texts: [String]) async throws {
    var monitors: [NetworkMonitor] = []
    var subscriptions: [CallbackSubscription] = []
    for text in texts {
      let monitor = try NetworkMonitor.start(target: NetworkTarget(text), sharing: monitors.first)
      monitors.append(monitor)
      subscriptions.append(
        monitor.onChangeImmediately { say("\(text) \($0.status.rawValue) \($0.interfaceName ?? "-")") })
    }
    say("threads \(Library.threadCount()) netlink sockets \(netlinkSockets())")
    while readLine() != nil {
      if monitors.isEmpty { break }
      monitors.removeFirst()
      subscriptions.removeFirst()
      say("stopped")
    }
    monitors = []
    subscriptions = []
    for _ in 0..<500 where Library.threadCount() > 0 { usleep(10_000) }
    say("threads \(Library.threadCount())")
  }

  /// Returns the number of netlink sockets among the first 256 descriptors of this process.
  private static func netlinkSockets() -> Int {
    var count = 0
    for descriptor in 0..<256 as Range<CInt> {
      var family: CInt = 0
      var length = socklen_t(MemoryLayout<CInt>.size)
      if unsafe getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &length) == 0, family == AF_NETLINK {
        count += 1
      }
    }
    return count
  }
}
