/// The status of a target, in AFNetworking's four words.
public enum ReachabilityStatus: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
  /// The status is not known: the kernel cannot be asked through netlink, for now or any more; no resolver has answered yet for
  /// the name of the target's host; or, in an event stream, the service has ended.
  ///
  /// This never means offline. It is the first value of a monitor only if the target is such a host.
  case unknown
  /// The target is not reachable.
  case notReachable = "not-reachable"
  /// The target is reachable over a cellular modem.
  case wwan
  /// The target is reachable over anything else, including a cable, as in AFNetworking. ``NetworkPath/medium`` tells the
  /// exact kind of link.
  case wifi

  /// Creates the status of a machine that is reachable over `medium`.
  package init(of medium: Medium) {
    if case .wwan = medium { self = .wwan } else { self = .wifi }
  }

  /// The status in words, such as `not reachable`.
  public var description: String { rawValue.words }

  /// Whether the status is `wifi` or `wwan`.
  package var isReachable: Bool {
    switch self {
    case .wifi, .wwan: true
    case .unknown, .notReachable: false
    }
  }
}
