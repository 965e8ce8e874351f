import ArgumentParser
import Netwatch
import NetwatchEventLoop
import NetwatchLines
import NetwatchStream

/// `netwatch wait`: waits until the conditions hold.
struct WaitCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "wait", abstract: "Wait until the network is reachable, or until conditions hold.",
    discussion:
      "With --probe, wait also until the internet answers. Exit status: 0 the conditions hold, 1 timed out, 2 could not run. "
      + "'netwatch wait --help-all' lists every option.")

  /// The time between two looks at the table of neighbours, if a condition is about the ID of the network.
  private static let networkInterval = Duration.seconds(1)

  @ParentCommand var root: NetwatchTool

  @Option(
    name: .shortAndLong, help: ArgumentHelp("Give up after this time. Default: never.", valueName: "seconds"),
    transform: Duration.init(seconds:))
  var timeout: Duration?

  @Flag(name: .shortAndLong, help: "Print nothing; only set the exit status.")
  var quiet = false

  @Option(
    name: .customLong("for"), parsing: .singleValue, help: NetwatchTool.conditionHelp,
    completion: .list(Condition.names))
  var conditionWords: [String] = []

  @OptionGroup var output: OutputOptions
  @OptionGroup(visibility: .rare) var path: PathOptions
  @OptionGroup(visibility: .rare) var probe: ProbeOptions
  @OptionGroup var details: DetailOptions

  mutating func validate() throws {
    try root.refuseOptions(
      of: Self.self,
      but: [
        OutputOptions.self, PathOptions.self, ProbeOptions.self, DetailOptions.self,
      ])
  }

  func run() throws {
    let renderer = try output.makeRenderer(saysWhy: details.verbose)
    let isMet = try PlainError.reporting {
      let output = quiet ? nil : try StandardOutput()
      let (last, isMet) = try wait()
      if let last, let output { try renderer.print(last, to: output) }
      return isMet
    }
    if !isMet { throw ExitCode(1) }
  }

  /// Waits until the conditions hold or the time is up.
  ///
  /// - Returns: The last record, and whether the conditions hold for it.
  private func wait() throws -> (EventRecord?, isMet: Bool) {
    let wanted = try root.conditions(conditionWords)
    let networkKey = try wanted.needNetwork ? NetworkKey.read() : nil
    let loop = try EventLoop()
    let start = loop.now
    var options = LineSource.Options()
    options.configuration = path.configuration
    options.probe = probe.settings
    options.probe?.isRequired = true
    options.saysWhatIsMissing = details.verbose
    options.tellsStages = wanted.needStages
    options.tellsEachStage = wanted.needStages
    var last: EventRecord?
    var isMet = false
    var look = {}
    let source = try LineSource(options, on: loop) { record in
      // The line keeps the reason of the path, so only the results of the probe and the stages change.
      if last != nil, record.path.reason == .internetChanged || record.event == .stages {
        last?.internet = record.internet
        last?.portalURL = record.portalURL
        last?.stages = record.stages
      } else {
        last = record
      }
      look()
    }
    // The kernel learns a gateway's hardware address some time after the path has changed, and no path is published then.
    var again: LoopTimer?
    look = { [unowned source] in
      guard let last else { return }
      isMet = wanted.hold(for: last, in: networkKey.flatMap { source.network(key: $0) })
      if isMet { source.finish() } else if networkKey != nil { again?.set(after: Self.networkInterval) }
    }
    again = LoopTimer(on: loop) { look() }
    if let timeout { loop.schedule(at: start + timeout) { [unowned source] in source.finish() } }
    try source.start()
    try source.run()
    source.stop()
    again?.stop()
    return (last, isMet)
  }
}
