/// How reachable the network is: AFNetworking's four words.
public enum ReachabilityStatus: String, Hashable, Sendable, CaseIterable {
  /// Not known: netlink cannot be read any more, or the target is a host for whose name nobody has answered yet. Never a
  /// synonym of offline. Only of such a host it is the first value of a monitor.
  case unknown
  case notReachable = "not-reachable"
  /// Reachable over a cellular modem.
  case wwan
  /// Reachable over anything else, as AFNetworking has it: ``NetworkPath/medium`` says exactly over what.
  case wifi

  /// The status of a machine that is reachable over `medium`.
  package init(of medium: Medium) {
    // Not `==`, here and below: of enumerations with raw values it compares the texts.
    if case .wwan = medium { self = .wwan } else { self = .wifi }
  }

  /// Wifi or wwan.
  @inline(__always) package var isReachable: Bool {
    switch self {
    case .wifi, .wwan: true
    case .unknown, .notReachable: false
    }
  }
}
