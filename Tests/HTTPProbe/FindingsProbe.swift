import Glibc
import Netwatch
import NetwatchHTTP
import NetwatchNetlink

/// An app whose monitor finds out more than the path. Its arguments name what: `probe=URL`, `interval=SECONDS`, `stages`, `quality`,
/// `network`. It prints a line for each path, and `holds` or `missed` when a wait for the conditions `internet` or `network=ID` is over.
enum FindingsProbe {
  static func main(_ words: [String]) async throws {
    var configuration = MonitorConfiguration()
    configuration.report = { say("report: \($0)") }
    var conditions: [NetworkCondition] = []
    for word in words {
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      switch parts[0] {
      case "probe": configuration.probe = try HTTPInternetProbe(parts[1])
      case "interval": configuration.probeInterval = .seconds(Double(parts[1]) ?? 300)
      case "stages": configuration.watchesStages = true
      case "quality": configuration.measuresQuality = true
      case "network": configuration.identifiesNetwork = true
      case "internet": conditions.append(.internet)
      case "id": conditions += NetworkIdentity(parts[1]).map { [.network($0)] } ?? []
      default: say("unknown word \(word)")
      }
    }
    let monitor = try NetworkMonitor.start(configuration)
    let subscription = monitor.onChangeImmediately { path in
      let findings = [
        path.internet.map { "internet=\($0.rawValue)" }, path.portal.map { "portal=\($0)" },
        path.stages.map { "failing=\($0.failing?.rawValue ?? "-")" },
        path.linkQuality.map { "quality=\($0.roundTripTime == nil ? "?" : "known")" },
        path.network.map { "network=\($0)" }, path.lost.map { "lost=\($0.name)" },
      ]
      say("\(path.status.rawValue) \(path.reason.rawValue) \(findings.compactMap { $0 }.joined(separator: " "))")
      say("# \(path.sentence())")
    }
    for condition in conditions {
      let holds = await monitor.waitUntil(condition, within: .seconds(60))
      say(holds ? "holds" : "missed")
    }
    // The test ends this process.
    while readLine() != nil {}
    withExtendedLifetime(subscription) {}
  }

  /// Writes a line at once. fflush(3) would wait for the thread that reads the standard input.
  private static func say(_ text: String) {
    var line = text + "\n"
    line.withUTF8 { bytes in _ = unsafe write(STDOUT_FILENO, bytes.baseAddress, bytes.count) }
  }
}
