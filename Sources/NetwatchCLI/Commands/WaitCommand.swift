import Netwatch
import NetwatchEventLoop
import NetwatchLines
import NetwatchNetlink
import NetwatchStream

/// `netwatch wait`: waits until the conditions hold.
struct WaitCommand {
  /// The time between two looks at the table of neighbours, if a condition is about the ID of the network.
  private static let networkInterval = Duration.seconds(1)

  let options: ParsedOptions

  func run() throws -> ProcessEnding {
    let renderer = try options.output.makeRenderer(saysWhy: options.isVerbose, about: options.watch.target)
    let output = options.isQuiet ? nil : try StandardOutput()
    let (last, isMet, network) = try wait()
    if let last, let output { _ = try renderer.print(last, LineNames(), to: output) }
    if let last, !isMet, !options.isQuiet { options.conditions.tellRefutations(for: last, in: { network }) }
    return .exited(isMet ? 0 : 1)
  }

  /// Waits until the conditions hold or the time is up.
  ///
  /// - Returns: The last record, whether the conditions hold for it, and the ID of the network.
  private func wait() throws -> (EventRecord?, isMet: Bool, NetworkIdentity?) {
    let wanted = options.conditions
    let networkKey = try wanted.needNetwork ? NetworkKey.read() : nil
    let loop = try EventLoop()
    let start = loop.now
    var lines = StatusOptions()
    lines.configuration = options.watch.configuration
    lines.configuration.judgesUplinks = wanted.needUplinks
    options.setRules(of: &lines)
    lines.saysWhatIsMissing = options.isVerbose
    lines.tellsStages = wanted.needStages
    lines.tellsEachStage = wanted.needStages
    lines.network = options.network
    var last: EventRecord?
    var isMet = false
    var network: NetworkIdentity?
    var look = {}
    let source = try StatusSource(lines, on: loop) { record in
      // The line keeps the reason of the path, so only the results of the probe and the stages change.
      if last != nil, record.path.reason == .internetChanged || record.event == .stages {
        last?.internet = record.internet
        last?.portalURL = record.portalURL
        last?.stages = record.stages
        last?.uplinks = record.uplinks
      } else {
        last = record
      }
      look()
    }
    // The kernel learns a gateway's hardware address some time after the path has changed, and no path is published then.
    var again: LoopTimer?
    look = { [unowned source] in
      guard let last else { return }
      network = networkKey.flatMap { source.network(key: $0) }
      isMet = wanted.hold(for: last, in: network)
      if isMet { source.finish() } else if networkKey != nil { again?.set(after: Self.networkInterval) }
    }
    again = LoopTimer(on: loop) { look() }
    if let timeout = options.timeout { loop.schedule(at: start + timeout) { [unowned source] in source.finish() } }
    try source.start()
    try source.run()
    source.stop()
    again?.stop()
    return (last, isMet, network)
  }
}
