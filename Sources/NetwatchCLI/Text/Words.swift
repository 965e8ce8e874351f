import Netwatch

extension String {
  /// The words of a code of the stream.
  var words: String { String(map { $0 == "_" || $0 == "-" ? " " : $0 }) }
}

extension InternetAccess {
  /// For people.
  var words: StaticString {
    switch self {
    case .full: "internet: full"
    case .portal: "behind a login page (captive portal)"
    case .absent: "no internet"
    case .unknown: "internet: unknown"
    }
  }

  /// Whether people have to be told, though there is a way out.
  var isFault: Bool {
    switch self {
    case .portal, .absent: true
    case .full, .unknown: false
    }
  }
}
