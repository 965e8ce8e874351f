import Netwatch
import NetwatchNetlink

/// `announcements`: prints the reason of each path, and what the network has said about its captive portal.
enum Announcements {
  static func run() async throws {
    var configuration = MonitorConfiguration()
    configuration.hearsAnnouncements = true
    let monitor = try NetworkMonitor.start(configuration)
    for try await path in monitor.paths {
      say("\(path.reason.rawValue) \(path.announcements?.portalAPI.map(\.description) ?? "-")")
    }
  }
}
