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
