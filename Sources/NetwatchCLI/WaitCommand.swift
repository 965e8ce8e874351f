import ArgumentParser
import Netwatch

/// `netwatch wait`: ends when the network is as wanted.
struct WaitCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "wait", abstract: "Wait until the network is reachable, or as --for says.",
    discussion: "With --probe, until the internet answers, too. Exit status: 0 it is, 1 timed out, 2 could not run.")

  enum Goal: String, ExpressibleByArgument, CaseIterable {
    case reachable, wifi, wwan
    case notReachable = "not-reachable"

    func isMet(by path: NetworkPath) -> Bool {
      switch self {
      case .reachable: path.isReachable
      case .notReachable: path.status == .notReachable
      case .wifi: path.status == .wifi
      case .wwan: path.status == .wwan
      }
    }
  }

  @ParentCommand var root: NetwatchTool

  @Option(name: .customLong("for"), help: "What to wait for.")
  var goal = Goal.reachable

  @Option(
    name: .shortAndLong, help: ArgumentHelp("Give up after so long. Default: never.", valueName: "seconds"),
    transform: Seconds.parse)
  var timeout: Duration?

  @Flag(name: .shortAndLong, help: "Print nothing; the exit status tells.")
  var quiet = false

  @OptionGroup var output: OutputOptions
  @OptionGroup var path: PathOptions
  @OptionGroup var probe: ProbeOptions
  @OptionGroup var details: DetailOptions

  mutating func validate() throws {
    try root.refuseOptions(
      of: Self.self, but: [OutputOptions.self, PathOptions.self, ProbeOptions.self, DetailOptions.self])
    if probe.probe != nil, goal == .notReachable {
      throw ValidationError("--probe waits for the internet, and --for not-reachable for its end; leave out one.")
    }
  }

  func run() throws {
    let configuration = path.configuration
    let renderer = quiet ? nil : try output.makeRenderer(saysWhy: details.verbose)
    let isMet = try CommandFailure.reporting {
      try Waiter(
        configuration: configuration, renderer: renderer, timeout: timeout, probe: probe.settings,
        saysWhatIsMissing: details.verbose, isMet: goal.isMet
      ).run()
    }
    if !isMet { throw ExitCode(1) }
  }
}
