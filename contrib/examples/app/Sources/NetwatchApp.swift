import Netwatch
import NetwatchNetlink
import NetwatchStream

/// An app that uses the library: its interface shows whether the network is reachable, and its indicator shows that requests run.
/// If a netwatch service runs, the status bar of the desktop shows the requests too.
@main @MainActor final class NetwatchApp {
  private let activity = ActivityIndicator()
  private var subscriptions: [CallbackSubscription] = []

  static func main() async throws {
    try await NetwatchApp().run()
  }

  private func run() async throws {
    let monitor = try NetworkMonitor.start()
    let reporter = try ActivityReporter(of: activity)
    defer { withExtendedLifetime(reporter) {} }

    // Both call their closure on the main actor, and for the first time before they return.
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

  /// Runs for each reachable path: at the start, and when the network has changed or is back. The indicator counts it as one
  /// request.
  private func synchronize() async throws {
    let request = activity.begin("synchronize")
    defer { request.end() }
    try await Task.sleep(for: .seconds(1.5))
  }
}
