import Netwatch

/// What somebody wants to see on a bar.
struct BarLook {
  /// When nothing is shown.
  enum Occasion: String, CaseIterable {
    case reachable
    case notReachable = "not-reachable"
    case wifi, wired, wwan, bluetooth, virtual, other
    /// The activity mark is not shown.
    case idle
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
}
