import Netwatch
import NetwatchEventLoop
import NetwatchLines

/// `netwatch status`: prints one snapshot.
struct StatusCommand {
  let options: ParsedOptions

  func run() throws -> ProcessEnding {
    let renderer: any LineRenderer =
      options.isPrometheus
      ? MetricsRenderer(asksService: options.watch.usesService)
      : try options.output.makeRenderer(saysWhy: options.isVerbose)
    let text = renderer as? TextRenderer
    let needsNetwork = options.namesNetwork || options.conditions.needNetwork
    let saysAll = options.isVerbose && text != nil || options.isPrometheus
    text?.answerOnce(
      .init(
        target: options.watch.target, counts: options.watch.rules.selection, listsAll: options.watch.listsInterfaces,
        showsQuality: options.quality))

    var lines = LineSource.Options()
    lines.configuration = options.watch.configuration
    lines.configuration.wifi = options.wifi(saysAll: saysAll)
    lines.configuration.wifi.signal = nil
    lines.tellsQuality = options.quality || options.output.showsQuality || saysAll
    lines.tellsStages = options.stages || options.output.showsStage || options.conditions.needStages
    lines.listsInterfaces = options.watch.listsInterfaces || text != nil
    // A service does not list links.
    lines.service = options.serviceUse(
      needsOwn: lines.listsInterfaces || lines.configuration.wifi.isWanted || lines.tellsStages || needsNetwork)
    lines.activity = try options.watch.activity()
    lines.probe = options.probe.settings
    lines.probe?.isRequired = true
    lines.probe?.holdsFirstLine = true
    lines.saysWhatIsMissing = options.isVerbose
    let follower = try Follower(
      lines, renderer: renderer, count: 1, namesPrograms: text != nil || options.namesPrograms,
      conditions: options.conditions, networkKey: needsNetwork ? NetworkKey.read() : nil,
      namesNetwork: options.namesNetwork)
    try follower.run()
    return .exited(options.checks && !follower.isAsWanted ? 1 : 0)
  }
}
