import Netwatch
import NetwatchStream

/// The state that a bar shows.
struct BarState {
  enum Condition: Hashable {
    case online(Medium)
    /// A login page answers instead of the internet.
    case portal
    /// There is a route, but the internet does not answer.
    case noInternet
    case offline
    case unknown
  }

  let record: EventRecord
  let icons: IconSet
  let usesColor: Bool
  /// Whether the bar shows nothing, because of `--hide-when` or because netwatch ends.
  let isHidden: Bool
  let units: TrafficUnits
  let graph: TrafficGraph
  /// A space as wide as a digit.
  let padding: StaticString

  var path: NetworkPath { record.path }
  var traffic: LinkTraffic? { record.carrierTraffic }
  var isBusy: Bool { record.activity.state.isVisible }

  var condition: Condition {
    switch record.path.status {
    case .wifi, .wwan:
      switch record.internet {
      case .portal: .portal
      case .absent: .noInternet
      case .full, .unknown, nil: .online(record.path.medium ?? .other)
      }
    case .notReachable: .offline
    case .unknown: .unknown
    }
  }

  /// The condition as one word.
  var word: String {
    switch condition {
    case .online(let medium): medium.rawValue
    case .portal: "portal"
    case .noInternet: "no-internet"
    case .offline: "offline"
    case .unknown: "unknown"
    }
  }

  /// A short text for people about a fault of the internet; empty if no fault is known.
  var internetMark: StaticString {
    switch condition {
    case .portal: "login"
    case .noInternet: "no internet"
    case .online, .offline, .unknown: ""
    }
  }

  /// The colour as six hexadecimal digits: sky blue, orange, purple or vermilion of Okabe and Ito's palette, or a grey. People
  /// with colour blindness can distinguish these colours.
  var color: StaticString {
    switch condition {
    case .online: record.path.isExpensive ? "e69f00" : "56b4e9"
    case .portal, .noInternet: "cc79a7"
    case .offline: "d55e00"
    case .unknown: "999999"
    }
  }
}

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

/// The last samples of a link's traffic, with both directions added, as a row of small bars.
struct TrafficGraph: Hashable {
  static let width = 8
  /// The lowest rate that can fill a bar, in bits per second, so that background traffic does not look like work.
  private static let smallestTop: UInt64 = 100_000

  /// The samples in bits per second, the newest last.
  private var samples: [UInt64] = []

  mutating func add(_ traffic: LinkTraffic?) {
    if samples.count == Self.width { samples.removeFirst() }
    let (sum, isTooMuch) = (traffic?.receivedBitsPerSecond ?? 0).addingReportingOverflow(
      traffic?.sentBitsPerSecond ?? 0)
    samples.append(isTooMuch ? .max : sum)
  }

  /// Appends a mark for each sample, and the lowest mark for each sample that is still missing.
  func write(to buffer: inout LineBuffer, _ marks: [StaticString]) {
    guard let lowest = marks.first else { return }
    for _ in samples.count..<Self.width { buffer.append(lowest) }
    let top = Double(max(samples.max() ?? 0, Self.smallestTop))
    for sample in samples {
      let level = (Double(sample) / top * Double(marks.count - 1)).rounded(.up)
      buffer.append(marks[min(Int(level), marks.count - 1)])
    }
  }
}
