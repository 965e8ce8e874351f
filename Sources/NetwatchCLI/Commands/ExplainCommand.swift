import Netwatch
import NetwatchEventLoop
import NetwatchLines
import NetwatchNetlink

/// `netwatch explain`: explains why a target is reachable, or why not.
struct ExplainCommand {
  let options: ParsedOptions

  func run() throws -> ProcessEnding {
    let (findings, stages) = try examine()
    // Nothing is known of cables in a kernel before Linux 5.6.
    let cables = try? CableReader()
    let cable = { (link: Interface) in cables?.state(of: link.index, link.kernelName) }
    let explanation = Explanation(findings, stages, cable: cable)
    let output = options.output
    try StandardOutput().write(output.wantsJSON ? explanation.json : explanation.text(on: output.terminal))
    return .exited(explanation.verdict.isReachable ? 0 : 1)
  }

  private func examine() throws -> (PathExplanation, NetworkStages?) {
    var lines = StatusOptions()
    lines.configuration = options.watch.rules.configuration(for: options.target ?? options.watch.target)
    lines.saysWhatIsMissing = options.isVerbose
    lines.tellsStages = lines.configuration.target == .internet
    options.setRules(of: &lines)
    lines.probe?.holdsFirstLine = true
    var stages: NetworkStages?
    var finish = {}
    // The addresses of a host, and the result of a probe, come later.
    let source = try StatusSource(lines, on: EventLoop()) {
      stages = $0.stages
      finish()
    }
    finish = { [unowned source] in source.finish() }
    try source.start()
    try source.run()
    return (try source.explain(), stages)
  }
}
