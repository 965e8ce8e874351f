import Netwatch
import NetwatchEventLoop
import NetwatchLines
import NetwatchNetlink
import NetwatchStream

/// `netwatch status`: prints one snapshot.
struct StatusCommand {
  let options: ParsedOptions

  func run() throws -> ProcessEnding {
    let renderer = try makeRenderer()
    let isText = renderer is TextRenderer
    let needsNetwork = options.watch.namesNetwork || options.conditions.needNetwork
    let saysAll = options.isVerbose && isText || options.isPrometheus
    var lines = StatusOptions()
    lines.configuration = options.watch.configuration
    lines.configuration.wifi = options.wifi(saysAll: saysAll)
    lines.configuration.wifi.signal = nil
    lines.configuration.findsAllCarriers = options.isPrometheus
    lines.configuration.hearsAnnouncements = options.watch.announced
    lines.configuration.readsCable = options.watch.cable || options.output.showsCable || saysAll
    lines.configuration.judgesUplinks = options.watch.each || options.conditions.needUplinks
    lines.tellsQuality = options.watch.quality || options.output.showsQuality || saysAll
    lines.tellsStages = options.watch.stages || options.output.showsStage || options.conditions.needStages
    lines.listsInterfaces = options.watch.listsInterfaces || isText
    // A service does not list links.
    lines.service = options.serviceUse(
      needsOwn: lines.listsInterfaces || lines.configuration.wifi.isWanted || lines.tellsStages || needsNetwork
        || options.watch.needsOwn || lines.configuration.judgesUplinks)
    lines.activity = try options.watch.activity()
    options.setRules(of: &lines)
    lines.probe?.holdsFirstLine = true
    lines.portal?.holdsFirstLine = true
    lines.saysWhatIsMissing = options.isVerbose
    let follower = try Follower(
      lines, renderer: renderer, count: 1, namesPrograms: isText || options.namesPrograms,
      conditions: options.conditions, networkKey: needsNetwork ? NetworkKey.read() : nil,
      namesNetwork: options.watch.namesNetwork)
    try follower.run()
    if printsOnlyNetwork {
      guard let network = follower.network else {
        StandardError.warn("the network has no ID, because the hardware address of its gateway is not known")
        return .exited(1)
      }
      try StandardOutput().write("\(network)\n")
    }
    guard options.checks, !follower.isAsWanted else { return .exited(0) }
    if !options.isQuiet, let last = follower.last {
      options.conditions.tellRefutations(for: last, in: { follower.network })
    }
    return .exited(1)
  }

  private var printsOnlyNetwork: Bool { options.watch.namesNetwork && !options.output.wantsJSON && !options.isQuiet }

  private func makeRenderer() throws(PlainError) -> any LineRenderer {
    if options.isQuiet || printsOnlyNetwork { return NoRenderer() }
    if options.isPrometheus { return MetricsRenderer(asksService: options.watch.usesService) }
    return try options.output.makeRenderer(
      saysWhy: options.isVerbose, about: options.watch.target,
      snapshot: .init(
        target: options.watch.target,
        counts: options.watch.rules.selection(with: options.rules?.rules ?? NetworkRules()),
        listsAll: options.watch.listsInterfaces,
        showsQuality: options.watch.quality))
  }
}

/// Prints nothing, for a command whose answer is its exit status.
private final class NoRenderer: LineRenderer {
  func print(_ record: EventRecord, _ names: LineNames, to output: StandardOutput) -> Bool { true }
}
