import ArgumentParser
import Netwatch
import NetwatchEventLoop
import NetwatchLines
import NetwatchNetlink

/// `netwatch`: prints one snapshot, or with `--follow` every change.
///
/// The options of `--follow` belong to the root command, because `--help` does not list those of a default subcommand.
public struct NetwatchTool: ParsableCommand {
  public static let configuration = CommandConfiguration(
    commandName: "netwatch",
    abstract: "Shows whether this machine is online, over which connection, and why that changed.",
    usage: "netwatch [<subcommand>] [<options>]",
    discussion: """
      Without options, netwatch prints the present state and exits. In JSON, the status "wifi" means everything reachable \
      that is not cellular, as in AFNetworking; "medium" is the exact kind.

      Exit status: 0: done. 1: with --check, not reachable, or a condition does not hold; with explain, not reachable; with wait, \
      timed out. 2: could not run. 64: wrong usage. Without --check, the state does not change the exit status of netwatch and \
      status.
      """,
    version: NetwatchVersion.text,
    subcommands: [
      StatusCommand.self, WaitCommand.self, ExplainCommand.self, OpenCommand.self, GetCommand.self, ServeCommand.self,
      RunCommand.self, TopCommand.self, LogCommand.self, ReportCommand.self, ReplayCommand.self, SnippetCommand.self,
      TestHookCommand.self,
    ])

  @Flag(name: .shortAndLong, help: "Print the present state, then a line for each change.")
  var follow = false

  @OptionGroup(title: "Output") var output: OutputOptions
  @OptionGroup(title: "State") var snapshot: SnapshotOptions
  @OptionGroup(title: "Interfaces and targets") var path: PathOptions

  @Option(
    name: .customLong("for"), parsing: .singleValue, help: NetwatchTool.conditionHelp,
    completion: .list(Condition.names))
  var conditionWords: [String] = []

  @Option(
    help: ArgumentHelp(
      "With --follow, report a loss only after it has lasted this long.", valueName: "seconds"),
    transform: Duration.init(seconds:))
  var hold: Duration?

  @Option(help: ArgumentHelp("With --follow, exit after N lines.", valueName: "n"))
  var count: Int?

  @OptionGroup(title: "Service") var service: ServiceOptions
  @OptionGroup(title: "Activity") var activity: ActivityOptions
  @OptionGroup(title: "Output") var details: DetailOptions
  @OptionGroup(title: "Activity") var programs: ProgramOptions
  @OptionGroup(title: "Internet probe") var probe: ProbeOptions
  @OptionGroup(title: "Throughput") var traffic: TrafficOptions
  @OptionGroup(title: "Throughput") var units: UnitsOptions
  @OptionGroup(title: "WiFi") var wifi: WiFiOptions

  @Option(
    help: ArgumentHelp(
      "With --follow, also print a line when the WiFi signal, which is read every 5 seconds, moves "
        + "to another of five steps; with dbm, when it has changed at all. Without a value: steps.",
      valueName: "steps|dbm"),
    completion: .list(WiFiReporting.SignalChanges.allCases.map(\.rawValue)),
    transform: WiFiReporting.SignalChanges.named)
  var signal: WiFiReporting.SignalChanges?

  @Flag(
    help: ArgumentHelp(
      "Also print the round-trip time and the loss of the interface that carries the traffic, as "
        + "this machine's TCP connections measure them. No packet is sent. With --follow, measure every "
        + "4 seconds, and print a line when the figures have changed.")
  )
  var quality = false

  @Flag(
    help: ArgumentHelp(
      "Also print which stage of the way to the internet fails: link, address, gateway, DNS or "
        + "internet. With --follow, print a line when the first failing stage changes, or when none "
        + "fails any more. Without --probe, the last two stages are never ok.")
  )
  var stages = false

  @Flag(
    help: ArgumentHelp(
      "With --follow --stages, send the gateway an empty UDP datagram to port 9 every 5 seconds "
        + "while nothing else proves that it is alive. The kernel then notices a dead gateway within a "
        + "minute."))
  var nudge = false

  @Option(
    name: .customLong("exec"),
    help: ArgumentHelp(
      "With --follow or serve, run this shell command for each line, except those of --traffic. The command gets the line on "
        + "its standard input, and the state in NETWATCH_STATUS, _MEDIUM, _INTERFACE, _IPV4, _IPV6, "
        + "_GATEWAY, _SSID, _VPN, _EXPENSIVE, _EVENT, _REASON, _VISIBLE, _INTERNET and _STAGE. "
        + "NETWATCH_OLD_STATUS and so on have the previous values.", valueName: "command"))
  var hookCommand: String?

  @Option(
    name: .customLong("hooks"),
    help: ArgumentHelp(
      "With --follow or serve, run the executable files of this folder as --exec runs its command, in the "
        + "order of their names. The files must belong to you or to root, and "
        + "nobody else may be able to write to them.",
      valueName: "folder"),
    completion: .directory)
  var hookFolder: String?

  @Option(
    name: .customLong("exec-timeout"),
    help: ArgumentHelp(
      "End a command of --exec or a file of --hooks after this time. Default: 90.", valueName: "seconds"),
    transform: Duration.init(seconds:))
  var hookTimeout: Duration?

  @Option(
    name: .customLong("record"),
    help: ArgumentHelp(
      "With --follow, also write everything that netlink reports into this new file, which netwatch "
        + "replay can play. No service is used.", valueName: "file"), completion: .file())
  var recordingPath: String?

  @Flag(
    help: ArgumentHelp(
      "With --follow or serve, also store changes and outages, which netwatch log prints; with "
        + "--traffic, also the bytes of each day. The log contains the names of WiFi networks, which "
        + "reveal where you were."))
  var log = false

  public init() {}

  public mutating func validate() throws {
    if let count, count < 1 { throw ValidationError("--count needs 1 or more.") }
    if follow, snapshot.check { throw ValidationError("--check gives a status once; leave out --follow.") }
    if follow, snapshot.networkID { throw ValidationError("--network-id belongs to status; leave out --follow.") }
    try validateConditions()
    try validateHooks()
    if recordingPath != nil, activity.activity != .requests {
      throw ValidationError("--record does not hold what is in flight; leave out --activity.")
    }
    if recordingPath != nil, probe.probe != nil {
      throw ValidationError("--record does not hold what a probe finds; leave out --probe.")
    }
    if log, let option = path.givenSelection {
      throw ValidationError("--log stores whether the internet is reachable over any interface; leave out \(option).")
    }
    if recordingPath != nil, stages {
      throw ValidationError("--record does not hold which stage fails; leave out --stages.")
    }
    if nudge, !stages { throw ValidationError("--nudge belongs to --follow with --stages; use netwatch -f --stages.") }
    _ = try trafficInterval
    if follow { return }
    if hold != nil { throw ValidationError("--hold belongs to --follow; use netwatch -f.") }
    if count != nil { throw ValidationError("--count belongs to --follow; use netwatch -f.") }
    if signal != nil { throw ValidationError("--signal belongs to --follow; use netwatch -f.") }
    if nudge { throw ValidationError("--nudge belongs to --follow with --stages; use netwatch -f.") }
    if recordingPath != nil { throw ValidationError("--record belongs to --follow; use netwatch -f.") }
  }

  /// Throws a `ValidationError` if `--follow` was given with a subcommand. The parser accepts the option anywhere.
  func refuseFollowing(with command: (some ParsableCommand).Type) throws {
    let name = command.configuration.commandName ?? ""
    if follow { throw ValidationError("--follow works only without a command; leave out \(name).") }
  }

  /// Throws a `ValidationError` if an option was given that the subcommand lacks and would ignore.
  ///
  /// - Parameter groups: The option groups that the subcommand has. Default: none.
  func refuseOptions(of command: (some ParsableCommand).Type, but groups: [any SharedOptions.Type] = []) throws {
    try refuseFollowing(with: command)
    let name = command.configuration.commandName ?? ""
    let all: [any SharedOptions] = [
      output, snapshot, path, service, activity, details, programs, probe, traffic, units, wifi,
    ]
    for options in all where !groups.contains(where: { $0 == type(of: options) }) {
      if let option = options.given { throw ValidationError("\(name) does nothing with \(option); leave it out.") }
    }
    if !conditionWords.isEmpty, command != StatusCommand.self, command != WaitCommand.self {
      throw ValidationError("\(name) does nothing with --for; leave it out.")
    }
    if let option = givenHook, command != ServeCommand.self {
      throw ValidationError("\(name) does nothing with \(option); leave it out.")
    }
    if quality, command != StatusCommand.self {
      throw ValidationError("\(name) does nothing with --quality; leave it out.")
    }
    if log, command != ServeCommand.self {
      throw ValidationError("\(name) does nothing with --log; leave it out.")
    }
    if stages, command != StatusCommand.self {
      throw ValidationError("\(name) does nothing with --stages; leave it out.")
    }
  }

  /// Throws a `ValidationError` if an option comes before the subcommand. A subcommand that is another program gets only the
  /// words after its name.
  func refuseOptions(before command: (some ParsableCommand).Type) throws {
    let name = command.configuration.commandName ?? ""
    guard CommandLine.arguments.dropFirst().first != name else { return }
    throw ValidationError("Write the options of \(name) after its name: netwatch \(name) OPTIONS.")
  }

  /// Throws a `ValidationError` if an option was given that does nothing in a snapshot.
  func refuseOptionsOfFollow() throws {
    if let option = traffic.given ?? units.given ?? givenHook ?? (log ? "--log" : nil) {
      throw ValidationError("\(option) belongs to --follow; use netwatch -f.")
    }
    if !snapshot.check, !conditionWords.isEmpty { throw ValidationError("--for belongs to --check; add --check.") }
    try probe.refuseInterval()
    try activity.refuseEstimates()
  }

  public func run() throws {
    guard follow else {
      try refuseOptionsOfFollow()
      return try StatusCommand.print(
        output, snapshot, path, service, activity, details, programs, for: conditions(), probe, wifi,
        tellsQuality: quality,
        tellsStages: stages)
    }
    // This is not checked before, because the option may belong to a subcommand that shows rates.
    try units.validate(showsTraffic: trafficInterval != nil)
    try PlainError.reporting {
      var options = try lineOptions
      // A service sends the first state before it knows what else is wanted.
      let wifi = options.configuration.wifi
      options.service = service.use(
        judgesAlike: path.isDefault && hold == nil && !snapshot.interfaces && !wifi.includesDetails
          && !wifi.includesAccessPoint && !options.tellsStages)
      options.activity = try activity.settings
      options.probe = probe.settings
      options.saysWhatIsMissing = details.verbose
      let renderer = try output.makeRenderer(
        saysWhy: details.verbose, units: units.units ?? .bits, showsTraffic: traffic.traffic,
        opensPortal: probe.probe != nil)
      if let recordingPath {
        // A trace does not contain what a service sends.
        options.service = .nothing
        options.input = .recorded(try TraceWriter(creating: recordingPath, try traceSettings))
      }
      try Follower(
        options, renderer: renderer, count: count, hooks: hookSettings,
        isLogged: log,
        namesPrograms: renderer is TextRenderer ? details.verbose : programs.programs
      ).run()
    }
  }

  /// The time between two samples of the links' traffic; nil if lines show no traffic.
  var trafficInterval: Duration? {
    get throws { try traffic.interval(isShown: output.bar.showsTraffic) }
  }

  /// The properties of the WiFi network that lines report.
  var wifiReporting: WiFiReporting {
    wifi.reporting(signal: signal, shown: output.wifi, saysAll: details.verbose && output.isText)
  }

  /// The options that decide the lines of `--follow`, without the source of the lines.
  var lineOptions: LineSource.Options {
    get throws {
      var options = LineSource.Options()
      options.trafficInterval = try trafficInterval
      options.configuration = path.configuration
      options.configuration.hold = hold ?? .zero
      options.configuration.publishesInterfaceChanges = snapshot.interfaces
      options.configuration.wifi = wifiReporting
      options.tellsQuality = quality || output.bar.showsQuality
      options.tellsStages = stages || output.bar.showsStage
      options.nudgesGateway = nudge
      options.listsInterfaces = snapshot.interfaces
      options.tellsSwitching = output.isText
      return options
    }
  }
}
