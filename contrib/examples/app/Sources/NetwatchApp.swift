import Netwatch
import NetwatchNetlink
import NetwatchStream

/// What an app does with the library: its interface follows the network, its requests light the indicator, and the status bar
/// of the desktop too where a service runs.
@main @MainActor final class NetwatchApp {
  private let activity = ActivityIndicator()
  private var subscriptions: [Subscription] = []

  static func main() async throws {
    try await NetwatchApp().run()
  }

  private func run() async throws {
    let monitor = try NetworkMonitor.start()
    let reporter = try ActivityReporter(of: activity)
    defer { withExtendedLifetime(reporter) {} }

    // Both are called here, on the main actor, the first time before they return.
    subscriptions = [
      monitor.onChange { [unowned self] in show($0) },
      activity.onVisibilityChange { print($0 ? "busy" : "idle") },
    ]

    for try await path in monitor.paths where path.isReachable {
      try await synchronize()
    }
  }

  private func show(_ path: NetworkPath) {
    guard path.isReachable else { return print("offline: \(path.reason.rawValue)") }
    let network = path.wifi.map { " “\($0.ssid.text)”" } ?? ""
    print("online over \(path.interfaceName ?? "?")\(network)" + (path.isExpensive ? ", sparingly" : ""))
  }

  /// Whenever the network is back, and as long as any request.
  private func synchronize() async throws {
    let request = activity.begin("synchronize")
    defer { request.end() }
    try await Task.sleep(for: .seconds(1.5))
  }
}
