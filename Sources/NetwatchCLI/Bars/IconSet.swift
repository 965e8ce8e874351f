import Netwatch

/// A set of marks for a bar. Each mark has its own shape, so that nobody has to distinguish colours.
enum IconSet: String, CaseIterable {
  /// Circles and arrows, which most fonts have.
  case unicode
  /// Icons of a patched font (nerdfonts.com). All of them are also in Font Awesome, so its fonts work as well.
  case nerd
  case ascii
  /// No marks, but words if a mark would be the only sign.
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

  /// The mark of received traffic.
  var down: StaticString {
    switch self {
    case .unicode: "↓"
    case .nerd: "\u{f063}"
    case .ascii: "v"
    case .none: "down "
    }
  }

  /// The mark of sent traffic.
  var up: StaticString {
    switch self {
    case .unicode: "↑"
    case .nerd: "\u{f062}"
    case .ascii: "^"
    case .none: "up "
    }
  }

  /// The marks of a graph from the lowest to the highest, all of the same width.
  var levels: [StaticString] {
    self == .ascii ? ["_", ".", "-", "~", "=", "+", "*", "#"] : ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
  }

  /// The mark at the end of a text that was cut off.
  var ellipsis: StaticString { self == .ascii ? "~" : "…" }
}
