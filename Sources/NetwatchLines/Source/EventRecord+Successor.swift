import Netwatch
import NetwatchNetlink
import NetwatchStream

extension EventRecord {
  /// Returns a record in which nothing is known yet, while the name of a host is resolved.
  static func unresolved(sequence: UInt64) -> EventRecord {
    let moment = Moment.now
    return EventRecord(
      sequence: sequence, nanosecondsSince1970: moment.wall, monotonicNanoseconds: moment.monotonic, event: .initial,
      path: NetworkPath(verdict: .unknown, reason: .unresolved, interfaces: InterfaceTable()))
  }

  /// Returns this state as the next record after a known one; nil if there is no difference.
  package func successor(of known: EventRecord, becauseOf reason: ActivityReason) -> EventRecord? {
    var next = self
    if !path.saysTheSame(as: known.path) {
      next.event = .reachability
      // The reason "initial" is only for the first line.
      if path.reason == .initial { next.path = path.with(reason: .resynced) }
      return next
    }
    guard activity != known.activity else { return nil }
    next.event = .activity
    next.activityReason = reason
    return next
  }

  /// Returns the reason why the activity differs from the known one. A record about something else does not have this reason
  /// itself.
  func activityReason(after known: Activity?, hasLostService: Bool) -> ActivityReason {
    guard event != .activity, let known else { return activityReason }
    if activity.inFlight > known.inFlight { return .requestBegan }
    if hasLostService { return .serviceLost }
    if activity.inFlight < known.inFlight { return .requestEnded }
    return activity.state.isVisible ? .activationDelay : .completionDelay
  }
}

extension NetworkPath {
  /// Returns whether two paths are equal in everything that a line has.
  package func saysTheSame(as other: NetworkPath) -> Bool {
    // A path of this process has the index of each family's link, a path of a service does not.
    func says(_ path: FamilyPath?) -> FamilyPath? {
      path.map { FamilyPath(address: $0.address, gateway: $0.gateway, interfaceIndex: 0, kernelName: $0.kernelName) }
    }
    return status == other.status && medium == other.medium && kernelName == other.kernelName
      && interfaceIndex == other.interfaceIndex && verdict.cost == other.verdict.cost && says(ipv4) == says(other.ipv4)
      && says(ipv6) == says(other.ipv6) && vpn?.kernelName == other.vpn?.kernelName && vpn?.kind == other.vpn?.kind
      && vpn?.isCarrierKnown == other.vpn?.isCarrierKnown && vpn?.families == other.vpn?.families
      && wifi?.ssid == other.wifi?.ssid
  }
}
