import Netwatch

/// The path of this machine to the internet according to the kernel's routes, for a program without a `NetworkMonitor`.
///
/// If netlink is not permitted, it reports that there is a path.
package final class KernelPath: PathSource {
  /// Creates a path source.
  package init() {}

  /// Whether the kernel has a route to the internet. True if netlink is not permitted.
  package var hasPath: Bool {
    guard let routes = try? KernelRoutes() else { return true }
    return Destinations.internet.all.contains { routes.route(to: $0) != .none }
  }

  /// Always true: ``hasPath`` does not cover servers on the local network.
  package var isAboutInternetOnly: Bool { true }

  /// Returns an observation that never calls `body`, because a session observes the kernel's changes itself.
  package func onPathChange(_ body: @escaping @Sendable () -> Void) -> any AnyObject & Sendable { self }
}
