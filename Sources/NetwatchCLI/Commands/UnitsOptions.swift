import ArgumentParser

/// What rates are shown in.
struct UnitsOptions: SharedOptions {
  @Option(
    help: "Show rates in bits or bytes per second. This applies to text, {down} and {up}. Default: bits.",
    completion: .list(TrafficUnits.allCases.map(\.rawValue)), transform: TrafficUnits.choice)
  var units: TrafficUnits?

  var given: String? { units != nil ? "--units" : nil }

  /// As somebody would give them.
  var words: [String] { units.map { ["--units", $0.rawValue] } ?? [] }

  /// - Parameter showsTraffic: whether there are rates at all.
  func validate(showsTraffic: Bool) throws {
    if let given, !showsTraffic { throw ValidationError("\(given) belongs to --traffic; add it.") }
  }
}
