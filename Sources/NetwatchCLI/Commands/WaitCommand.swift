import ArgumentParser
import Netwatch
import NetwatchEventLoop
import NetwatchLines
import NetwatchStream

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
    transform: Duration.init(seconds:))
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
    let renderer = try output.makeRenderer(saysWhy: details.verbose)
    let isMet = try PlainError.reporting {
      let output = quiet ? nil : try StandardOutput()
      let last = try wait()
      if let last, let output { try renderer.print(last, to: output) }
      return last.map(isGoal) ?? false
    }
    if !isMet { throw ExitCode(1) }
  }

  private func isGoal(_ record: EventRecord) -> Bool {
    goal.isMet(by: record.path) && record.internet?.isFull ?? true
  }

  /// - Returns: the record that is as wanted, or where the time was up first, the last one.
  private func wait() throws -> EventRecord? {
    let loop = try EventLoop()
    let start = KernelClock.monotonic.now
    var options = LineSource.Options()
    options.configuration = path.configuration
    options.probe = probe.settings
    options.probe?.isRequired = true
    options.saysWhatIsMissing = details.verbose
    var last: EventRecord?
    var finish = {}
    let source = try LineSource(options, on: loop) { record in
      // The line says why the path is as it is.
      if record.path.reason == .internetChanged { last?.internet = record.internet } else { last = record }
      if last.map(isGoal) == true { finish() }
    }
    finish = { [unowned source] in source.finish() }
    if let timeout { loop.schedule(at: start + timeout) { [unowned source] in source.finish() } }
    try source.start()
    try source.run()
    source.stop()
    return last
  }
}
