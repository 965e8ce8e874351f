/// The result of a probe of the internet.
public enum InternetAccess: String, Hashable, Sendable, CaseIterable {
  /// The expected answer has come.
  case full
  /// Something between this machine and the internet answers instead: a captive portal, as in hotels.
  case portal
  /// Nothing has answered, or there is no way out. The event stream calls this "none".
  case absent = "none"
  /// The path was not probed since it changed, or the answer proves nothing.
  case unknown

  /// Whether the result is `full`. Not `==`, which would compare the raw values as text.
  package var isFull: Bool { if case .full = self { true } else { false } }

  /// Creates the state before a probe. Without a way out there is no internet, and no probe is needed.
  package init(beforeProbing status: ReachabilityStatus) {
    if case .notReachable = status { self = .absent } else { self = .unknown }
  }
}
