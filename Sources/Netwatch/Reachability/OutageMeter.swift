/// Counts the outages among published paths: how many there were, for which reasons, and their total time.
///
/// An outage begins with a path that is not reachable and ends with one that is. If an outage is already there when counting
/// begins, it counts from then on. While the status is unknown, no outage begins or ends, and the time does not count.
package struct OutageMeter: Hashable, Sendable {
  /// The number of outages that have begun, by the reason of the path that was not reachable.
  package private(set) var counts: [ReachabilityReason: UInt64] = [:]
  /// The total time of all outages until the last path that was noted.
  private var timeBefore = Duration.zero
  /// The time since which the status is known to be "not reachable". Nil while it is something else.
  private var start: Duration?
  private var isInOutage = false
  /// The reason why the machine is not reachable, as it was published last. Nil while it is reachable, or the status is unknown.
  package private(set) var reason: ReachabilityReason?
  /// The time at which the machine last began or stopped being reachable, in nanoseconds since 1970 by the wall clock of that time. That
  /// of the first path that says which, until there is a change. Nil before.
  package private(set) var lastChange: Int64?

  package init() {}

  /// Notes a path that was published.
  ///
  /// - Parameters:
  ///   - now: The time of the monotonic clock, which stands still while the machine is suspended.
  ///   - wall: The time of the wall clock, in nanoseconds since 1970.
  package mutating func note(_ path: NetworkPath, at now: Duration, wall: Int64) {
    if path.status != .unknown, lastChange == nil || isInOutage == path.isReachable { lastChange = wall }
    timeBefore = time(at: now)
    start = path.status == .notReachable ? now : nil
    reason = path.status == .notReachable ? path.reason : nil
    switch path.status {
    case .unknown: break
    case .wifi, .wwan: isInOutage = false
    case .notReachable:
      if !isInOutage { counts[path.reason, default: 0] += 1 }
      isInOutage = true
    }
  }

  /// Returns the total time of all outages, including one that has not ended yet.
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
