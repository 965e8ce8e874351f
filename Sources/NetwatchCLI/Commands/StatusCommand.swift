import ArgumentParser
import Netwatch
import NetwatchEventLoop
import NetwatchLines

/// `netwatch status`: prints one snapshot.
struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Print the present state and exit.",
    discussion: """
      Add --quality to print the round-trip time and the loss, and --stages to print which stage of the way to the internet \
      fails. 'netwatch status --help-all' lists every option.
      """)

  @ParentCommand var root: NetwatchTool

  @OptionGroup var output: OutputOptions
  @Option(
    name: .customLong("for"), parsing: .singleValue, help: NetwatchTool.conditionHelp,
    completion: .list(Condition.names))
  var conditionWords: [String] = []

  @OptionGroup var snapshot: SnapshotOptions
  @OptionGroup(visibility: .rare) var path: PathOptions

  @OptionGroup(visibility: .rare) var service: ServiceOptions
  @OptionGroup(visibility: .rare) var activity: ActivityOptions
  @OptionGroup var details: DetailOptions
  @OptionGroup(visibility: .rare) var programs: ProgramOptions
  @OptionGroup(visibility: .rare) var probe: ProbeOptions
  @OptionGroup(visibility: .rare) var wifi: WiFiOptions

  // The parser gives both to netwatch; they stand here for the help.
  @Flag(help: ArgumentHelp("Also print the round-trip time and the loss.", visibility: .rare))
  var quality = false
  @Flag(help: ArgumentHelp("Also print which stage of the way to the internet fails.", visibility: .rare))
  var stages = false

  @Flag(help: "Print metrics for the textfile collector of the Prometheus node_exporter.")
  var prometheus = false

  mutating func validate() throws {
    try root.refuseOptions(
      of: Self.self,
      but: [
        OutputOptions.self, SnapshotOptions.self, PathOptions.self, ServiceOptions.self, ActivityOptions.self,
        DetailOptions.self, ProgramOptions.self, ProbeOptions.self, WiFiOptions.self,
      ])
    if !snapshot.check, try !root.conditions(conditionWords).isEmpty {
      throw ValidationError("--for belongs to --check; add --check.")
    }
    try probe.refuseInterval()
    try activity.refuseEstimates()
    let flags = [
      (snapshot.interfaces, "--interfaces"), (root.quality, "--quality"), (root.stages, "--stages"),
      (snapshot.networkID, "--network-id"),
    ]
    let strange = output.given ?? details.given ?? programs.given ?? wifi.given ?? flags.first { $0.0 }?.1
    if prometheus, let strange {
      throw ValidationError("--prometheus is a format of its own; leave out \(strange).")
    }
  }

  func run() throws {
    let renderer = prometheus ? MetricsRenderer(asksService: !service.noService) : nil
    try Self.print(
      output, snapshot, path, service, activity, details, programs, for: root.conditions(conditionWords), probe, wifi,
      tellsQuality: root.quality, tellsStages: root.stages, renderer: renderer)
  }

  /// Prints one snapshot.
  static func print(
    _ output: OutputOptions, _ snapshot: SnapshotOptions, _ path: PathOptions, _ service: ServiceOptions,
    _ activity: ActivityOptions, _ details: DetailOptions, _ programs: ProgramOptions, for wanted: [Condition],
    _ probe: ProbeOptions, _ wifi: WiFiOptions, tellsQuality: Bool, tellsStages: Bool,
    renderer: (any LineRenderer)? = nil
  ) throws {
    let needsNetwork = snapshot.networkID || wanted.needNetwork
    var options = LineSource.Options()
    options.configuration = path.configuration
    let renderer = try renderer ?? output.makeRenderer(saysWhy: details.verbose)
    let saysAll = details.verbose && renderer is TextRenderer || renderer is MetricsRenderer
    options.configuration.wifi = wifi.reporting(shown: output.wifi, saysAll: saysAll)
    options.configuration.wifi.signal = nil
    options.tellsQuality = tellsQuality || output.bar.showsQuality || saysAll
    options.tellsStages = tellsStages || output.bar.showsStage || wanted.needStages
    (renderer as? TextRenderer)?.answerOnce(
      .init(
        target: path.target, counts: path.links.rules.selection, listsAll: snapshot.interfaces,
        showsQuality: tellsQuality))
    options.listsInterfaces = snapshot.interfaces || renderer is TextRenderer
    // A service does not list links.
    options.service = service.use(
      judgesAlike: path.isDefault && !options.listsInterfaces && !options.configuration.wifi.isWanted
        && !options.tellsStages && !needsNetwork)
    options.activity = try activity.settings
    options.probe = probe.settings
    options.probe?.isRequired = true
    options.probe?.holdsFirstLine = true
    options.saysWhatIsMissing = details.verbose
    let namesPrograms = renderer is TextRenderer || programs.programs
    let isAsWanted = try PlainError.reporting {
      let follower = try Follower(
        options, renderer: renderer, count: 1, namesPrograms: namesPrograms, conditions: wanted,
        networkKey: needsNetwork ? NetworkKey.read() : nil, namesNetwork: snapshot.networkID)
      try follower.run()
      return follower.isAsWanted
    }
    if snapshot.check, !isAsWanted { throw ExitCode(1) }
  }
}
