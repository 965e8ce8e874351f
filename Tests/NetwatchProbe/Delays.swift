import Netwatch
import NetwatchNetlink

/// Starts monitors with delays that no clock can represent. Prints the status of each monitor, then `changed` for each
/// of its changes, and at the end of stdin how many monitors are still there.
enum Delays {
  static func run() throws {
    var subscriptions: [CallbackSubscription] = []
    for target in ["10.0.0.2", "known.example"] {
      for delay in [Duration.seconds(Int64.max), .seconds(Int64.max) * 18, .seconds(Int64.min)] {
        var configuration = MonitorConfiguration()
        configuration.target = try NetworkTarget(target)
        configuration.hold = delay
        configuration.resolutionInterval = delay
        let monitor = try NetworkMonitor.start(configuration)
        // The reader of the line may take the network away at once, so the callback has to be registered before.
        subscriptions.append(monitor.onChangeImmediately(initial: false) { _ in say("changed") })
        say(monitor.currentPath.status.rawValue)
      }
    }
    while readLine() != nil {}
    say("held \(subscriptions.count)")
  }
}
