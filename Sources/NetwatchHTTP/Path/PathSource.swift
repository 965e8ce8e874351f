import Netwatch

/// A source that knows whether there is a path to the network, such as a `NetworkMonitor`.
public protocol PathSource: Sendable {
  /// Whether there is a path to the network. True if that is not known, because it is better to try.
  var hasPath: Bool { get }
  /// Calls `body` at each change, on any thread.
  ///
  /// - Parameter body: The closure to call.
  /// - Returns: An observation. The calls end when it is released.
  func onPathChange(_ body: @escaping @Sendable () -> Void) -> any AnyObject & Sendable
  /// Whether ``hasPath`` is about the internet only, so that a server on the local network may be reachable without it. A
  /// session then asks the kernel for the route to each server. Default: false, ``hasPath`` counts for all servers.
  var isAboutInternetOnly: Bool { get }
  /// The medium of the path, for ``HTTPTaskOptions/requiredMedia``. Default: nil, not known.
  var medium: Medium? { get }
  /// Whether using the path may cost money, for ``HTTPTaskOptions/allowsExpensivePath``. Default: nil, not known.
  var isExpensive: Bool? { get }
}

extension PathSource {
  /// The default: nil, the medium is not known.
  public var medium: Medium? { nil }
  /// The default: nil, it is not known whether the path may cost money.
  public var isExpensive: Bool? { nil }
  /// The default: false, `hasPath` counts for all servers.
  public var isAboutInternetOnly: Bool { false }
}

extension NetworkMonitor: PathSource {
  /// True if the current path of the monitor is reachable, and also while its status is not known.
  public var hasPath: Bool { currentPath.status != .notReachable }

  /// Always true. A session takes the path of a monitor as the path to the internet, so give it a monitor whose target is the
  /// internet.
  public var isAboutInternetOnly: Bool { true }

  /// The medium of the current path. Nil if it is not known.
  public var medium: Medium? { currentPath.medium }

  /// Whether the current path may cost money. Nil if it is not reachable.
  public var isExpensive: Bool? {
    let path = currentPath
    return path.isReachable ? path.isExpensive : nil
  }

  /// Calls `body` at each change of the path, on the thread of the monitor.
  ///
  /// - Parameter body: The closure to call.
  /// - Returns: An observation. The calls end when it is released.
  public func onPathChange(_ body: @escaping @Sendable () -> Void) -> any AnyObject & Sendable {
    onChangeImmediately(initial: false) { _ in body() }
  }
}

extension HTTPTaskOptions {
  /// Returns whether a task with these options may use a path as it is.
  func allows(_ path: any PathSource) -> Bool {
    if let required = requiredMedia, !(path.medium.map { required.contains($0) } ?? false) { return false }
    return allowsExpensivePath || path.isExpensive == false
  }
}
