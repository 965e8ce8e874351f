import Netwatch
import NetwatchStream

/// The settings for what a bar shows.
struct BarLook {
  /// A case in which the bar shows nothing.
  enum Occasion: String, CaseIterable {
    case reachable
    case notReachable = "not-reachable"
    case wifi, wired, wwan, bluetooth, virtual, other
    /// The activity indicator is not visible.
    case idle

    func isMet(by record: EventRecord) -> Bool {
      switch self {
      // A fault that a probe has found always stays visible.
      case .reachable: record.path.isReachable && record.internet?.isFault != true
      case .notReachable: record.path.status == .notReachable
      case .wifi, .wired, .wwan, .bluetooth, .virtual, .other: record.path.medium?.rawValue == rawValue
      case .idle: !record.activity.state.isVisible
      }
    }
  }

  /// The template; nil for the standard one.
  var template: BarTemplate?
  var icons = IconSet.unicode
  /// The most characters (graphemes) of the text; nil for no limit.
  var maximumWidth: Int?
  var hidden: [Occasion] = []
  var usesColor = true
  var units = TrafficUnits.bits
  /// Whether the standard template also shows the traffic. Default: false.
  var showsTraffic = false

  func hides(_ record: EventRecord) -> Bool { hidden.contains { $0.isMet(by: record) } }
}
