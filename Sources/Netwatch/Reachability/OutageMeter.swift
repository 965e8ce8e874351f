/// Counts the outages among published paths: how often nothing was reachable, for which reason, and how long in all.
///
/// An outage begins with a path that is not reachable and ends with one that is. One that is already there when counting begins
/// counts from then on. While the status is unknown, an outage neither begins nor ends, and its time does not count.
package struct OutageMeter: Hashable, Sendable {
  /// The outages that have begun, by the reason of the path that was not reachable.
  package private(set) var counts: [ReachabilityReason: UInt64] = [:]
  /// The time of all outages until the last path that was noted.
  private var timeBefore = Duration.zero
  /// Since when the status is known to be "not reachable"; nil while it is something else.
  private var start: Duration?
  private var isInOutage = false

  package init() {}

  /// Notes a path that was published.
  ///
  /// - Parameter now: The time of the monotonic clock, which stands still while the machine is suspended.
  package mutating func note(_ path: NetworkPath, at now: Duration) {
    timeBefore = time(at: now)
    start = path.status == .notReachable ? now : nil
    switch path.status {
    case .unknown: break
    case .wifi, .wwan: isInOutage = false
    case .notReachable:
      if !isInOutage { counts[path.reason, default: 0] += 1 }
      isInOutage = true
    }
  }

  /// The time of all outages, with that of the one that has not ended yet.
  ///
  /// - Parameter now: The time of the monotonic clock.
  package func time(at now: Duration) -> Duration {
    timeBefore + max(start.map { now - $0 } ?? .zero, .zero)
  }
}

extension ReachabilityReason {
  /// The reasons that an outage of a monitor without a target can have, in the order in which they are listed.
  package static let outages: [ReachabilityReason] = [
    .noRoute, .routeUnreachable, .noCarrier, .dormant, .linkDown, .noAddress, .vpnWithoutUnderlay,
  ]
}
