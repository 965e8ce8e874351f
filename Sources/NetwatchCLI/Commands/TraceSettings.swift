import ArgumentParser
import Netwatch
import NetwatchNetlink

/// The options that decide the lines of `--follow`, on their way into a trace and back. Each keeps its name and its text.
extension NetwatchTool {
  /// Whatever else an option may do, a trace can not ask for it.
  private static let traceKeys = [
    "target", "interface", "ignore", "wwan", "tunnel", "expensive", "not-expensive", "hold", "count", "interfaces",
  ]

  var traceSettings: [TraceSetting] {
    var settings = path.links.included.map { TraceSetting("interface", $0) }
    settings += path.links.ignored.map { TraceSetting("ignore", $0) }
    settings += path.links.modems.map { TraceSetting("wwan", $0) }
    settings += path.links.tunnels.map { TraceSetting("tunnel", $0) }
    settings += path.links.expensive.map { TraceSetting("expensive", $0) }
    settings += path.links.notExpensive.map { TraceSetting("not-expensive", $0) }
    if path.target != .internet { settings.append(TraceSetting("target", path.target.description)) }
    if let hold { settings.append(TraceSetting("hold", "\(hold / .seconds(1))")) }
    if let count { settings.append(TraceSetting("count", "\(count)")) }
    if snapshot.interfaces { settings.append(TraceSetting("interfaces")) }
    return settings
  }

  /// The command as it was when `settings` were recorded.
  static func recorded(in file: String, _ settings: [TraceSetting]) throws(CommandFailure) -> NetwatchTool {
    var arguments = ["--follow"]
    for setting in settings {
      guard traceKeys.contains(setting.key) else {
        throw CommandFailure("'\(file)' has a setting that this netwatch does not know; a newer one may play it")
      }
      arguments.append("--\(setting.key)" + (setting.value.map { "=\($0)" } ?? ""))
    }
    do {
      return try parse(arguments)
    } catch {
      throw CommandFailure("'\(file)' has settings that make no sense: \(message(for: error))")
    }
  }
}
