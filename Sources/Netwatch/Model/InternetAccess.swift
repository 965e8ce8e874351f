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
}

extension InternetAccess {
  /// The result of a probe in words for people.
  package var words: StaticString {
    switch self {
    case .full: "internet: full"
    case .portal: "behind a login page (captive portal)"
    case .absent: "no internet"
    case .unknown: "internet: unknown"
    }
  }

  /// Whether there is a fault that people have to know, although there is a route.
  package var isFault: Bool {
    switch self {
    case .portal, .absent: true
    case .full, .unknown: false
    }
  }
}

/// A request to a server in the internet that shows whether the internet answers. See ``MonitorConfiguration/probe``.
///
/// `import NetwatchHTTP` has one, `HTTPInternetProbe`; write your own to ask in another way.
public protocol InternetProbe: Sendable {
  /// The name of the server, for the stage ``NetworkStage/dns``. Nil if it has an address, or none is to be looked up.
  var host: String? { get }

  /// Asks the server once. The task is cancelled if the answer is not needed any more, or has not come within 12 seconds.
  ///
  /// - Parameter interface: The name of the link over which the request has to leave: the outermost tunnel if there is one, else the
  ///   link that carries the traffic.
  /// - Returns: What the answer proves, and the address of the login page if a captive portal has answered.
  func ask(over interface: String) async -> (access: InternetAccess, portal: PortalURL?)
}
