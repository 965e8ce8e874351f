import Netwatch

/// Knows whether there is a path to the network. A `NetworkMonitor` does.
public protocol PathSource: Sendable {
  /// Where that is not known, true: it is better to try.
  var hasPath: Bool { get }
  /// Calls `body` at each change, on any thread.
  ///
  /// - Returns: what ends the calls when it is released.
  func onPathChange(_ body: @escaping @Sendable () -> Void) -> any AnyObject & Sendable
  /// Whether ``hasPath`` is about the internet alone, so that a server nearby may be reachable without it. A session then
  /// asks the kernel for the route to each server. Default false: ``hasPath`` counts for all servers.
  var isAboutInternetOnly: Bool { get }
  /// What the traffic goes over, for ``HTTPTaskOptions/requiredMedia``. Default: nil, not known.
  var medium: Medium? { get }
  /// Whether using the path may cost money, for ``HTTPTaskOptions/allowsExpensivePath``. Default: nil, not known.
  var isExpensive: Bool? { get }
}

extension PathSource {
  public var medium: Medium? { nil }
  public var isExpensive: Bool? { nil }
  public var isAboutInternetOnly: Bool { false }
}

extension NetworkMonitor: PathSource {
  public var hasPath: Bool { currentPath.status != .notReachable }

  public var isAboutInternetOnly: Bool { true }

  public var medium: Medium? { currentPath.medium }

  public var isExpensive: Bool? {
    let path = currentPath
    return path.isReachable ? path.isExpensive : nil
  }

  public func onPathChange(_ body: @escaping @Sendable () -> Void) -> any AnyObject & Sendable {
    onChangeImmediately(initial: false) { _ in body() }
  }
}
