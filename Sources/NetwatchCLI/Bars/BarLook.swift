import Netwatch
import NetwatchStream

/// What somebody wants to see on a bar.
struct BarLook {
  /// When nothing is shown.
  enum Occasion: String, CaseIterable {
    case reachable
    case notReachable = "not-reachable"
    case wifi, wired, wwan, bluetooth, virtual, other
    /// The activity mark is not shown.
    case idle

    func isMet(by record: EventRecord) -> Bool {
      switch self {
      // What a probe has found wrong is not to be missed.
      case .reachable: record.path.isReachable && record.internet?.isFault != true
      case .notReachable: record.path.status == .notReachable
      case .wifi, .wired, .wwan, .bluetooth, .virtual, .other: record.path.medium?.rawValue == rawValue
      case .idle: !record.activity.state.isVisible
      }
    }
  }

  /// Nil for the usual one.
  var template: BarTemplate?
  var icons = IconSet.unicode
  /// In graphemes; nil for no end.
  var maximumWidth: Int?
  var hidden: [Occasion] = []
  var usesColor = true
  var units = TrafficUnits.bits
  /// Whether the usual template says how much goes over the link.
  var showsTraffic = false

  func hides(_ record: EventRecord) -> Bool { hidden.contains { $0.isMet(by: record) } }
}
