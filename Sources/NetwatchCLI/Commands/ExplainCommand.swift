import ArgumentParser
import Netwatch
import NetwatchEventLoop
import NetwatchLines

/// `netwatch explain`: explains why a target is reachable, or why not.
struct ExplainCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain", abstract: "Explain step by step why a target is reachable, or why not.",
    discussion: """
      For IPv4 and IPv6, explain prints the routing rule, the route, its interface, the source address, the tunnel with the \
      interface beneath it, and the interface that carries the traffic. Without a target, it also prints which stage of the way \
      to the internet fails. 'netwatch explain --help-all' lists every option.

      Exit status: 0 reachable, 1 not reachable, 2 could not run.
      """)

  @ParentCommand var root: NetwatchTool

  @Argument(
    help: ArgumentHelp("The address or the host to explain. Default: the internet.", valueName: "target"),
    transform: NetworkTarget.init(argument:))
  var target: NetworkTarget?

  @OptionGroup var output: OutputOptions
  @OptionGroup(visibility: .rare) var path: PathOptions
  @OptionGroup(visibility: .rare) var probe: ProbeOptions
  @OptionGroup var details: DetailOptions

  mutating func validate() throws {
    try root.refuseOptions(
      of: Self.self, but: [OutputOptions.self, PathOptions.self, ProbeOptions.self, DetailOptions.self])
    try probe.refuseInterval()
    try output.refuseBars(for: Self.self)
    if target != nil, path.target != .internet { throw ValidationError("There are two targets; give one.") }
  }

  func run() throws {
    let isReachable = try PlainError.reporting {
      let (findings, stages) = try look()
      let explanation = Explanation(findings, stages)
      try StandardOutput().write(output.wantsJSON ? explanation.json : explanation.text(on: output.terminal))
      return explanation.verdict.isReachable
    }
    if !isReachable { throw ExitCode(1) }
  }

  private func look() throws -> (PathFindings, NetworkStages?) {
    var options = LineSource.Options()
    options.configuration = path.links.rules.configuration(for: target ?? path.target)
    options.saysWhatIsMissing = details.verbose
    options.tellsStages = options.configuration.target == .internet
    options.probe = probe.settings
    options.probe?.isRequired = true
    options.probe?.holdsFirstLine = true
    var stages: NetworkStages?
    var finish = {}
    // The addresses of a host, and the result of a probe, come later.
    let source = try LineSource(options, on: EventLoop()) {
      stages = $0.stages
      finish()
    }
    finish = { [unowned source] in source.finish() }
    try source.start()
    try source.run()
    return (try source.findings(), stages)
  }
}
