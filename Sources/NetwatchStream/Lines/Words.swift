import Netwatch

extension String {
  /// The code of the stream as words, such as `no carrier` for `no_carrier`.
  package var words: String { String(map { $0 == "_" || $0 == "-" ? " " : $0 }) }
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

extension AddressFamily {
  /// The name of the family for people.
  package var shownName: String { self == .ipv4 ? "IPv4" : "IPv6" }
}
