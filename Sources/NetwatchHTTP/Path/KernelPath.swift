import Netwatch

/// The path of this machine to the internet, as the kernel's routes have it: for a program without a `NetworkMonitor`.
///
/// Where netlink is not permitted, there is always a path.
package final class KernelPath: PathSource {
  package init() {}

  package var hasPath: Bool {
    guard let routes = try? KernelRoutes() else { return true }
    return Destinations.internet.all.contains { routes.route(to: $0) != .none }
  }

  package var isAboutInternetOnly: Bool { true }

  /// Never calls `body`: a session hears of the kernel's changes itself.
  package func onPathChange(_ body: @escaping @Sendable () -> Void) -> any AnyObject & Sendable { self }
}
