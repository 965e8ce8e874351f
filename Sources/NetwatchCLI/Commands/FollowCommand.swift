import Netwatch
import NetwatchEventLoop
import NetwatchLines
import NetwatchNetlink
import NetwatchOptions

/// `netwatch --follow`: prints the state, then a line for each change.
struct FollowCommand {
  let options: ParsedOptions

  func run() throws -> ProcessEnding {
    var lines = lineOptions(isText: options.output.isText)
    // A service sends the first state before it knows what else is wanted.
    let wifi = lines.configuration.wifi
    lines.service = options.serviceUse(
      needsOwn: wifi.includesDetails || wifi.includesAccessPoint || lines.tellsStages || options.watch.needsOwn
        || lines.configuration.readsCable)
    lines.activity = try options.watch.activity()
    options.setRules(of: &lines)
    lines.probe?.isRequired = false
    lines.portal?.isRequired = false
    lines.saysWhatIsMissing = options.isVerbose
    let renderer = try options.output.makeRenderer(
      saysWhy: options.isVerbose, units: options.units ?? .bits, showsTraffic: options.watch.traffic,
      opensPortal: options.watch.probe.url != nil || options.watch.asksPortal, about: options.watch.target)
    if let path = options.recordingPath {
      // A trace does not contain what a service sends.
      lines.service = .nothing
      lines.input = .recorded(try TraceWriter(creating: path, traceSettings))
    }
    var hooks = options.hooks
    hooks.target = options.watch.target
    try Follower(
      lines, renderer: renderer, count: options.count, hooks: hooks.areWanted ? hooks : nil,
      isLogged: options.isLogged,
      namesPrograms: renderer is TextRenderer ? options.isVerbose : options.namesPrograms
    ).run(under: .fromEnvironment()) { hasService in
      if !hasService, lines.service != .nothing, lines.activity.counts == .requests, options.output.isText {
        StandardError.warnTerminal(
          "no service runs, so requests of programs are not shown; start netwatch serve, or add --activity tcp")
      }
    }
    return .exited(0)
  }

  /// Returns the options that decide the lines, without the source of the lines.
  ///
  /// - Parameter isText: Whether the output is text.
  func lineOptions(isText: Bool) -> StatusOptions {
    var lines = StatusOptions()
    lines.trafficInterval = options.shownTrafficInterval
    lines.configuration = options.watch.configuration
    lines.configuration.wifi = wifiReporting
    lines.tellsQuality = options.watch.quality || options.output.showsQuality
    lines.tellsStages = options.watch.stages || options.output.showsStage
    lines.configuration.hearsAnnouncements = options.watch.announced
    lines.configuration.readsCable = options.watch.cable || options.output.showsCable
    lines.configuration.judgesUplinks = options.watch.each
    lines.nudgesGateway = options.watch.nudges
    lines.listsInterfaces = options.watch.listsInterfaces
    lines.tellsSwitching = isText
    lines.network = options.network
    lines.tellsEndings = isText || options.isLogged || lines.configuration.wifi.includesDetails
    return lines
  }

  private var wifiReporting: WiFiReporting { options.wifi(saysAll: options.isVerbose && options.output.isText) }

  // MARK: Recordings

  /// The options that a trace may set. A trace cannot set other options.
  private static let traceKeys = [
    "target", "interface", "ignore", "wwan", "tunnel", "expensive", "not-expensive", "link-local", "hold", "count",
    "interfaces", "traffic", "traffic-interval", "signal", "wifi-details", "bssid", "quality", "announced", "cable",
    "each",
  ]

  /// The options that decide the lines, for a trace. Each keeps its name and its text.
  private var traceSettings: [TraceReader.Setting] {
    let (watch, rules) = (options.watch, options.watch.rules)
    var settings: [TraceReader.Setting] = rules.included.map { ("interface", $0) }
    settings += rules.ignored.map { ("ignore", $0) }
    settings += rules.modems.map { ("wwan", $0) }
    settings += rules.tunnels.map { ("tunnel", $0) }
    settings += rules.expensive.map { ("expensive", $0) }
    settings += rules.notExpensive.map { ("not-expensive", $0) }
    if rules.allowsLinkLocal { settings.append(("link-local", nil)) }
    if watch.target != .internet { settings.append(("target", watch.target.description)) }
    if watch.hold != .zero { settings.append(("hold", "\(watch.hold / .seconds(1))")) }
    if let count = options.count { settings.append(("count", "\(count)")) }
    if watch.listsInterfaces { settings.append(("interfaces", nil)) }
    if let interval = options.shownTrafficInterval {
      settings += [("traffic", nil), ("traffic-interval", "\(interval / .seconds(1))")]
    }
    let wifi = wifiReporting
    if let signal = wifi.signal { settings.append(("signal", signal.rawValue)) }
    if wifi.includesDetails { settings.append(("wifi-details", nil)) }
    if wifi.includesAccessPoint { settings.append(("bssid", nil)) }
    if watch.quality || options.output.showsQuality { settings.append(("quality", nil)) }
    if watch.announced || watch.asksPortal { settings.append(("announced", nil)) }
    if watch.cable || options.output.showsCable { settings.append(("cable", nil)) }
    if watch.each { settings.append(("each", nil)) }
    return settings
  }

  /// Returns the command with the options that were recorded in a trace.
  ///
  /// - Throws: A `PlainError` if a setting is not known or makes no sense.
  static func recorded(in file: String, _ settings: [TraceReader.Setting]) throws(PlainError) -> FollowCommand {
    var words = ["--follow"]
    for setting in settings {
      guard traceKeys.contains(setting.key) else {
        throw PlainError("'\(file)' has a setting that this netwatch does not know; a newer one may play it")
      }
      words.append("--\(setting.key)" + (setting.value.map { "=\($0)" } ?? ""))
    }
    do {
      let request = try OptionParser.request(words, ParsedOptions.options, changing: ParsedOptions())
      guard case .run(let line) = request else { throw UsageError("there is more than options.") }
      try line.check()
      return FollowCommand(options: line.values)
    } catch {
      let message = (error as? UsageError)?.message ?? "\(error)"
      throw PlainError("'\(file)' has settings that make no sense: \(message)")
    }
  }
}
