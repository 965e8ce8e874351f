import ArgumentParser
import Netwatch
import NetwatchNetlink

/// Writes the options that decide the lines of `--follow` into a trace, and reads them back. Each keeps its name and its text.
extension NetwatchTool {
  /// The options that a trace may set. A trace cannot set other options.
  private static let traceKeys = [
    "target", "interface", "ignore", "wwan", "tunnel", "expensive", "not-expensive", "link-local", "hold", "count",
    "interfaces",
    "traffic", "traffic-interval", "signal", "wifi-details", "bssid", "quality",
  ]

  var traceSettings: [TraceReader.Setting] {
    get throws {
      var settings: [TraceReader.Setting] = path.links.included.map { ("interface", $0) }
      settings += path.links.ignored.map { ("ignore", $0) }
      settings += path.links.modems.map { ("wwan", $0) }
      settings += path.links.tunnels.map { ("tunnel", $0) }
      settings += path.links.expensive.map { ("expensive", $0) }
      settings += path.links.notExpensive.map { ("not-expensive", $0) }
      if path.links.allowsLinkLocal { settings.append(("link-local", nil)) }
      if path.target != .internet { settings.append(("target", path.target.description)) }
      if let hold { settings.append(("hold", "\(hold / .seconds(1))")) }
      if let count { settings.append(("count", "\(count)")) }
      if snapshot.interfaces { settings.append(("interfaces", nil)) }
      if let interval = try trafficInterval {
        settings += [("traffic", nil), ("traffic-interval", "\(interval / .seconds(1))")]
      }
      settings += WiFiOptions.words(of: wifiReporting)
      if quality || output.bar.showsQuality { settings.append(("quality", nil)) }
      return settings
    }
  }

  /// Returns the command with the options that were recorded in a trace.
  ///
  /// - Throws: A `PlainError` if a setting is not known or makes no sense.
  static func recorded(in file: String, _ settings: [TraceReader.Setting]) throws(PlainError) -> NetwatchTool {
    var arguments = ["--follow"]
    for setting in settings {
      guard traceKeys.contains(setting.key) else {
        throw PlainError("'\(file)' has a setting that this netwatch does not know; a newer one may play it")
      }
      arguments.append("--\(setting.key)" + (setting.value.map { "=\($0)" } ?? ""))
    }
    do {
      return try parse(arguments)
    } catch {
      throw PlainError("'\(file)' has settings that make no sense: \(message(for: error))")
    }
  }
}
