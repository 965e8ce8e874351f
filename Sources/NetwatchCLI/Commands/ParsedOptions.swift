import Netwatch
import NetwatchLines
import NetwatchNetlink
import NetwatchOptions
import NetwatchStream

/// The values of all options of netwatch. The table is in ``options``.
struct ParsedOptions {
  var watch = WatchOptions()
  var output = OutputOptions()
  var probe = ProbeOptions()
  var ignoresRules = false
  /// The files of rules; nil if they do not count.
  var rules: RuleFiles?
  var isVerbose = false

  // The state
  var checks = false
  var conditions: [NetworkCondition] = []
  var namesNetwork = false
  var namesPrograms = false
  var quality = false
  var stages = false
  var isPrometheus = false
  var wifiDetails = false
  var bssid = false

  // Following
  var count: Int?
  var signal: WiFiReporting.SignalChanges?
  var nudges = false
  var traffic = false
  var trafficInterval: Duration?
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
  var file = ""
  var bar: Bar?
  var exampleStatus = ReachabilityStatus.wifi
  var ssid: String?

  /// The time between two samples of the links' traffic; nil if lines show no traffic.
  var shownTrafficInterval: Duration? {
    traffic || output.showsTraffic ? trafficInterval ?? .seconds(1) : nil
  }

  /// Returns the properties of the WiFi network that lines report.
  ///
  /// - Parameter saysAll: Whether lines report all details.
  func wifi(saysAll: Bool) -> WiFiReporting {
    var given = WiFiReporting()
    given.signal = signal
    given.includesDetails = wifiDetails || saysAll
    given.includesAccessPoint = bssid
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
    guard probe.url == nil, !conditions.contains(.notReachable) else { return }
    probe.url = files.rules.probe
    probe.isByRule = true
  }

  /// Gives a source of lines the files of rules, and the settings of the probe.
  func setRules(of lines: inout StatusOptions) {
    lines.rules = rules
    lines.probe = probe.settings
    lines.probe?.isRequired = !probe.isByRule
    if rules != nil, probe.isByRule { lines.probeByRule = { probe.settings(asking: $0) } }
  }

  /// Returns how a service is used.
  ///
  /// - Parameter needsOwn: Whether lines have something that a service does not send.
  func serviceUse(needsOwn: Bool) -> ServiceUse {
    !watch.usesService ? .nothing : watch.judgesAsUsual && !ignoresRules && !needsOwn ? .everything : .activity
  }
}

/// The options for a probe of the internet, which asks a server of the user's choice.
struct ProbeOptions {
  /// The longest expected text in bytes, which is as much as `netwatch-http` reads.
  static let longestExpectation = 1_024
  /// The shortest interval. Shorter ones would only put load on the machine and the server.
  static let shortestInterval = Duration.milliseconds(100)

  var url: String?
  /// Whether a rule decides about the URL, and not an option.
  fileprivate var isByRule = false
  var expectation: String?
  var interval: Duration?
  var timeout: Duration?

  /// The settings of the probe; nil if there is none.
  var settings: ProbeSettings? { url.map(settings(asking:)) }

  /// Returns the settings of a probe of this URL.
  func settings(asking url: String) -> ProbeSettings {
    var settings = ProbeSettings(
      url: url, expectation: expectation, userAgent: "netwatch/\(NetwatchVersion.text)")
    if let interval { settings.interval = interval }
    if let timeout { settings.timeout = timeout }
    return settings
  }
}
