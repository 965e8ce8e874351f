import Netwatch

/// The marks of a bar. Each has a shape of its own, so that nobody has to tell colours apart.
enum IconSet: String, CaseIterable {
  /// Circles and arrows, which most fonts have.
  case unicode
  /// Pictures of a patched font (nerdfonts.com); those of Font Awesome, so that its fonts do as well.
  case nerd
  case ascii
  /// Words, where a mark would be all that says something.
  case none

  func mark(of condition: BarState.Condition) -> StaticString {
    switch self {
    case .nerd: Self.picture(of: condition)
    case .none: ""
    case .unicode:
      switch condition {
      case .online: "●"
      case .portal: "◐"
      case .noInternet: "◌"
      case .offline: "○"
      case .unknown: "?"
      }
    case .ascii:
      switch condition {
      case .online: "*"
      case .portal: "!"
      case .noInternet: "x"
      case .offline: "-"
      case .unknown: "?"
      }
    }
  }

  private static func picture(of condition: BarState.Condition) -> StaticString {
    switch condition {
    case .online(.wifi): "\u{f1eb}"
    case .online(.wired): "\u{f0e8}"
    case .online(.wwan): "\u{f012}"
    case .online(.bluetooth): "\u{f293}"
    case .online(.virtual): "\u{f1b3}"
    case .online(.other): "\u{f0ac}"
    case .portal: "\u{f090}"
    case .noInternet: "\u{f071}"
    case .offline: "\u{f127}"
    case .unknown: "\u{f128}"
    }
  }

  var vpn: StaticString { self == .nerd ? "\u{f023}" : "VPN" }

  var activity: StaticString {
    switch self {
    case .unicode: "⇅"
    case .nerd: "\u{f0ec}"
    case .ascii: "%"
    case .none: "busy"
    }
  }

  /// What is received.
  var down: StaticString {
    switch self {
    case .unicode: "↓"
    case .nerd: "\u{f063}"
    case .ascii: "v"
    case .none: "down "
    }
  }

  /// What is sent.
  var up: StaticString {
    switch self {
    case .unicode: "↑"
    case .nerd: "\u{f062}"
    case .ascii: "^"
    case .none: "up "
    }
  }

  /// From nothing to the most, each as wide as the others.
  var levels: [StaticString] {
    self == .ascii ? ["_", ".", "-", "~", "=", "+", "*", "#"] : ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
  }

  /// Where something was cut off.
  var ellipsis: StaticString { self == .ascii ? "~" : "…" }
}
