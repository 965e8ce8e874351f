import ArgumentParser
import Netwatch
import NetwatchNetlink

/// The options for lines about the traffic of links.
struct TrafficOptions: SharedOptions {
  @Flag(
    help: ArgumentHelp(
      "Measure each second how much the interface that carries the traffic receives and sends; with "
        + "--interfaces, all interfaces. --follow prints a line each second, and the log stores the bytes of "
        + "each day.",
      in: [
        "serve": "With --log, also store how many bytes the interface that carries the traffic receives and sends each "
          + "day.",
        "snippet": "Also show how much the interface that carries the traffic receives and sends.",
      ]))
  var traffic = false

  @Option(
    name: .customLong("traffic-interval"),
    help: ArgumentHelp(
      "With --traffic, measure this often. Default: 1.",
      in: ["serve": "With --traffic, read the interface's counters this often. Default: 1."], valueName: "seconds"),
    transform: Duration.init(seconds:))
  var interval: Duration?

  var given: String? { traffic ? "--traffic" : interval != nil ? "--traffic-interval" : nil }

  /// The options as words of a command line.
  var words: [String] {
    (traffic ? ["--traffic"] : []) + (interval.map { ["--traffic-interval", "\($0 / .seconds(1))"] } ?? [])
  }

  mutating func validate() throws {
    if let interval, interval < TrafficSampler.shortestInterval {
      throw ValidationError("--traffic-interval needs 0.1 or more.")
    }
  }

  /// Returns the time between two samples of the traffic; nil if it is not shown.
  ///
  /// - Parameter isShown: Whether a template shows the traffic.
  /// - Throws: A `ValidationError` if `--traffic-interval` was given and the traffic is not shown.
  func interval(isShown: Bool) throws -> Duration? {
    guard traffic || isShown else {
      guard let given else { return nil }
      throw ValidationError("\(given) belongs to --traffic; add --traffic.")
    }
    return interval ?? .seconds(1)
  }
}
