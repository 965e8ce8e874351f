import Netwatch
import NetwatchNetlink

/// Monitors with delays that no clock can hold. Each one's status is a line, then `changed` at its next change.
enum Delays {
  static func run() throws {
    var subscriptions: [Subscription] = []
    for target in ["10.0.0.2", "known.example"] {
      for delay in [Duration.seconds(Int64.max), .seconds(Int64.max) * 18, .seconds(Int64.min)] {
        var configuration = MonitorConfiguration()
        configuration.target = try NetworkTarget(target)
        configuration.hold = delay
        configuration.resolutionInterval = delay
        let monitor = try NetworkMonitor.start(configuration)
        // Who reads the line may take the network away at once, so the callback is there before it.
        subscriptions.append(monitor.onChangeImmediately(initial: false) { _ in say("changed") })
        say(monitor.currentPath.status.rawValue)
      }
    }
    while readLine() != nil {}
    say("held \(subscriptions.count)")
  }
}
