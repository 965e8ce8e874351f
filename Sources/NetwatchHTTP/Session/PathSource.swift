import Netwatch

/// Knows whether there is a path to the network. A `NetworkMonitor` does.
public protocol PathSource: Sendable {
  /// Where that is not known, true: it is better to try.
  var hasPath: Bool { get }
  /// Calls `body` at each change, on any thread.
  ///
  /// - Returns: what ends the calls when it is released.
  func onPathChange(_ body: @escaping @Sendable () -> Void) -> any AnyObject & Sendable
}

extension NetworkMonitor: PathSource {
  public var hasPath: Bool { currentPath.status != .notReachable }

  public func onPathChange(_ body: @escaping @Sendable () -> Void) -> any AnyObject & Sendable {
    onChangeImmediately(initial: false) { _ in body() }
  }
}
