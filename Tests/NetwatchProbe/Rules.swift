import Netwatch
import NetwatchEventLoop
import NetwatchNetlink

/// Monitors that use the machine's rule files.
enum Rules {
  /// Prints each path, and each fault in the rule files, until the end of stdin.
  static func follow() throws {
    let monitor = try start { say($0) }
    let subscription = monitor.onChangeImmediately { say(words(about: $0)) }
    while readLine() != nil {}
    subscription.cancel()
  }

  /// Starts a monitor for each line of stdin. Prints its path, and whether the rule files have a fault.
  static func answer() throws {
    while readLine() != nil {
      let isFaulty = Lock(false)
      let monitor = try start { _ in isFaulty.withLock { $0 = true } }
      let path = monitor.currentPath
      // AFNetworking's number for the status, as in its C enumeration.
      let number = path.status == .unknown ? -1 : path.status == .notReachable ? 0 : path.status == .wwan ? 1 : 2
      say(
        "\(number) \(words(about: path).split(separator: " ").dropFirst().joined(separator: " ")) \(isFaulty.withLock { $0 } ? "fault" : "-")"
      )
    }
  }

  private static func words(about path: NetworkPath) -> String {
    "\(path.status.rawValue) \(path.medium?.rawValue ?? "-") \(path.interfaceName ?? "-") \(path.expense?.rawValue ?? "-") "
      + (path.isReachable ? path.isConstrained ? "1" : "0" : "-")
  }

  private static func start(_ report: @escaping @Sendable (String) -> Void) throws -> NetworkMonitor {
    var configuration = MonitorConfiguration()
    configuration.machineRules = .followed(report: report)
    return try NetworkMonitor.start(configuration)
  }
}
