import ArgumentParser
import Netwatch
import NetwatchNetlink

/// The options that decide the lines of `--follow`, on their way into a trace and back. Each keeps its name and its text.
extension NetwatchTool {
  private enum Key {
    static let target = "target"
    static let included = "interface"
    static let ignored = "ignore"
    static let modems = "wwan"
    static let tunnels = "tunnel"
    static let expensive = "expensive"
    static let notExpensive = "not-expensive"
    static let hold = "hold"
    static let count = "count"
    static let interfaces = "interfaces"

    /// Whatever else an option may do, a trace can not ask for it.
    static let all = [
      target, included, ignored, modems, tunnels, expensive, notExpensive, hold, count, interfaces,
    ]
  }

  var traceSettings: [TraceSetting] {
    var settings = path.links.included.map { TraceSetting(Key.included, $0) }
    settings += path.links.ignored.map { TraceSetting(Key.ignored, $0) }
    settings += path.links.modems.map { TraceSetting(Key.modems, $0) }
    settings += path.links.tunnels.map { TraceSetting(Key.tunnels, $0) }
    settings += path.links.expensive.map { TraceSetting(Key.expensive, $0) }
    settings += path.links.notExpensive.map { TraceSetting(Key.notExpensive, $0) }
    if path.target != .internet { settings.append(TraceSetting(Key.target, path.target.description)) }
    if let hold { settings.append(TraceSetting(Key.hold, "\(hold / .seconds(1))")) }
    if let count { settings.append(TraceSetting(Key.count, "\(count)")) }
    if snapshot.interfaces { settings.append(TraceSetting(Key.interfaces)) }
    return settings
  }

  /// The command as it was when `settings` were recorded.
  static func recorded(in file: String, _ settings: [TraceSetting]) throws(CommandFailure) -> NetwatchTool {
    var arguments = ["--follow"]
    for setting in settings {
      guard Key.all.contains(setting.key) else {
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
