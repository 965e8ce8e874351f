import Netwatch
import NetwatchStream

/// What a bar is to show.
struct BarState {
  enum Condition: Hashable {
    case online(Medium)
    /// A login page answers in place of the internet.
    case portal
    /// There is a way out, but nothing answers.
    case noInternet
    case offline
    case unknown
  }

  let record: EventRecord
  let icons: IconSet
  let usesColor: Bool
  /// Nothing is to be seen: `--hide-when`, or netwatch ends.
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

  /// The condition in a word.
  var word: String {
    switch condition {
    case .online(let medium): medium.rawValue
    case .portal: "portal"
    case .noInternet: "no-internet"
    case .offline: "offline"
    case .unknown: "unknown"
    }
  }

  /// What is wrong with the internet, for people; empty where nothing is known to be.
  var internetMark: StaticString {
    switch condition {
    case .portal: "login"
    case .noInternet: "no internet"
    case .online, .offline, .unknown: ""
    }
  }

  /// Six hexadecimal digits, of Okabe and Ito's palette, which people tell apart however they see colours: sky blue, orange,
  /// purple, vermilion, and a grey.
  var color: StaticString {
    switch condition {
    case .online: record.path.isExpensive ? "e69f00" : "56b4e9"
    case .portal, .noInternet: "cc79a7"
    case .offline: "d55e00"
    case .unknown: "999999"
    }
  }
}
