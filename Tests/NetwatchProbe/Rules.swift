import Netwatch
import NetwatchNetlink

/// The library with the files of rules. Each path prints a line; each line of stdin starts another monitor, and its end ends this.
enum Rules {
  static func run() throws {
    while let monitor = try? start() {
      let subscription = monitor.onChangeImmediately { path in
        say(
          "\(path.status.rawValue) \(path.medium?.rawValue ?? "-") \(path.interfaceName ?? "-") "
            + "\(path.expense?.rawValue ?? "-") \(path.isConstrained)")
      }
      guard readLine() != nil else { return }
      subscription.cancel()
    }
  }

  private static func start() throws -> NetworkMonitor {
    var configuration = MonitorConfiguration()
    configuration.machineRules = .followed { say($0) }
    return try NetworkMonitor.start(configuration)
  }
}
