/// The interface that carried the traffic last. Pure.
package struct CarrierMemory: Sendable {
  private var carrier: NetworkPath.LostInterface?

  package init() {}

  /// Returns the interface that carries the traffic no more: in the path of the change from it to another one, and in each path while
  /// nothing is reachable.
  ///
  /// - Parameter isChange: Whether the path was published because the way of the traffic has changed.
  package mutating func loss(in path: NetworkPath, isChange: Bool) -> NetworkPath.LostInterface? {
    guard let now = NetworkPath.LostInterface(path) else { return path.status == .notReachable ? carrier : nil }
    defer { carrier = now }
    return isChange && carrier?.kernelName != now.kernelName ? carrier : nil
  }
}
