import Netwatch
import NetwatchEventLoop
import NetwatchNetlink

/// `netwatch replay`: prints the lines of a recording.
struct ReplayCommand {
  let options: ParsedOptions

  func run() throws -> ProcessEnding {
    let player = TracePlayer(try TraceReader(opening: options.file))
    let recorded = try FollowCommand.recorded(in: options.file, player.settings)
    // A trace does not say whether its lines were text.
    var lines = recorded.lineOptions(isText: options.output.isText)
    lines.input = .replayed(player)
    lines.player = player
    let renderer = try options.output.makeRenderer(
      saysWhy: options.isVerbose, showsTraffic: recorded.options.watch.traffic, about: recorded.options.watch.target)
    try Follower(lines, renderer: renderer, count: recorded.options.count).run()
    return .exited(0)
  }
}
