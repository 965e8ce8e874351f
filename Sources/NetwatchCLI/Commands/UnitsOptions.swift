import ArgumentParser

/// The option for the unit of rates.
struct UnitsOptions: SharedOptions {
  @Option(
    help: ArgumentHelp(
      "Show rates in bits or bytes per second, in text and in {down} and {up} of a template. Default: bits.",
      in: ["top": "Show rates in bits or bytes per second. JSON always has bits. Default: bits."]),
    completion: .list(TrafficUnits.allCases.map(\.rawValue)), transform: TrafficUnits.choice)
  var units: TrafficUnits?

  var given: String? { units != nil ? "--units" : nil }

  /// The option as words of a command line.
  var words: [String] { units.map { ["--units", $0.rawValue] } ?? [] }

  /// Throws a `ValidationError` if `--units` was given and no rates are shown.
  ///
  /// - Parameter showsTraffic: Whether rates are shown.
  func validate(showsTraffic: Bool) throws {
    if let given, !showsTraffic { throw ValidationError("\(given) belongs to --traffic; add --traffic.") }
  }
}
