/// What a probe of the internet has found.
public enum InternetAccess: String, Hashable, Sendable, CaseIterable {
  /// The answer was the expected one.
  case full
  /// Something between here and the internet answers in its place: a login page, as in hotels.
  case portal
  /// Nothing has answered, or there is no way out. The stream says "none".
  case absent = "none"
  /// Not probed since the path has changed, or the answer proves nothing.
  case unknown

  /// Not `==`, which would compare the raw values, as text.
  package var isFull: Bool { if case .full = self { true } else { false } }

  /// What is known before a probe: where there is no way out there is no internet, and nothing has to be asked.
  package init(beforeProbing status: ReachabilityStatus) {
    if case .notReachable = status { self = .absent } else { self = .unknown }
  }
}
