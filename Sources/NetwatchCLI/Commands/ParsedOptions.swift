import Netwatch
import NetwatchLines
import NetwatchNetlink
import NetwatchOptions
import NetwatchStream

/// The values of all options of netwatch. The table is in ``options``.
struct ParsedOptions {
  var watch = WatchOptions()
  var output = OutputOptions()
  /// Whether a rule decides about the URL of the probe, and not an option.
  private var probesByRule = false
  /// Whether a rule decides whether the portal API of the network is asked, and not an option.
  private var asksPortalByRule = false
  var ignoresRules = false
  /// The files of rules; nil if they do not count.
  var rules: RuleFiles?
  var isVerbose = false
  /// The network namespace to enter; nil to stay.
  var place: ForeignNetwork.Place?
  /// The network namespace that was entered; nil if none was.
  var network: ForeignNetwork?

  // The state
  var checks = false
  var conditions: [NetworkCondition] = []
  var namesPrograms = false
  var isPrometheus = false

  // Following
  var count: Int?
  var units: TrafficUnits?
  var recordingPath: String?
  var isLogged = false
  var hooks = HookSettings()

  // Single commands
  var target: NetworkTarget?
  var timeout: Duration?
  var isQuiet = false
  var socket: String?
  var connections = EventServer.standardConnectionLimit
  var user: String?
  var label: String?
  var command: [String] = []
  var isOnce = false
  var order: ProgramTable.Order?
  var grouping: ProgramFigures.Grouping?
  var file = ""
  var bar: Bar?
  var exampleStatus = ReachabilityStatus.wifi
  var ssid: String?

  /// The time between two samples of the links' traffic; nil if lines show no traffic.
  var shownTrafficInterval: Duration? {
    watch.traffic || output.showsTraffic ? watch.trafficInterval ?? .seconds(1) : nil
  }

  /// Returns the properties of the WiFi network that lines report.
  ///
  /// - Parameter saysAll: Whether lines report all details.
  func wifi(saysAll: Bool) -> WiFiReporting {
    var given = watch.wifi
    if saysAll { given.includesDetails = true }
    return given.union(output.wifi)
  }

  /// Reads the files of rules, for the commands that judge by them.
  ///
  /// A recording does without them, because they may differ where it is replayed.
  mutating func readRules(for command: Command) {
    guard [.follow, .status, .wait, .explain, .open].contains(command), !ignoresRules, recordingPath == nil else {
      return
    }
    let files = RuleFiles(for: .user)
    rules = files
    if !watch.asksPortal, [.follow, .status, .open].contains(command) {
      asksPortalByRule = true
      watch.asksPortal = files.rules.asksPortal
    }
    guard watch.probe.url == nil, !conditions.contains(.notReachable) else { return }
    watch.probe.url = files.rules.probe
    probesByRule = true
  }

  /// Gives a source of lines the files of rules, and the settings of the probe.
  func setRules(of lines: inout StatusOptions) {
    lines.rules = rules
    lines.probe = watch.probe.settings
    lines.probe?.isRequired = !probesByRule
    if watch.asksPortal { lines.portal = PortalSettings() }
    lines.portal?.isRequired = !asksPortalByRule
    lines.asksPortalByRule = asksPortalByRule
    if rules != nil, probesByRule { lines.probeByRule = { watch.probe.settings(asking: $0) } }
  }

  /// Returns how a service is used.
  ///
  /// - Parameter needsOwn: Whether lines have something that a service does not send.
  func serviceUse(needsOwn: Bool) -> ServiceUse { watch.serviceUse(needsOwn: needsOwn || ignoresRules) }
}
