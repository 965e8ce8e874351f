import ArgumentParser
import Netwatch
import NetwatchNetlink

/// `netwatch replay`: prints the lines of a recording.
struct ReplayCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay", abstract: "Print the lines of a recording by netwatch --follow --record.",
    discussion: """
      The command reads the recording and nothing else: no netlink, no service. It does not wait between lines. If the file was \
      truncated or changed, or if its netwatch asked the kernel other questions, it is played up to that point, and the exit \
      status is 2.
      """)

  @ParentCommand var root: NetwatchTool

  @OptionGroup var output: OutputOptions
  @OptionGroup var details: DetailOptions

  @Argument(help: "The file that --record has written.", completion: .file())
  var file: String

  mutating func validate() throws {
    try root.refuseOptions(of: Self.self, but: [OutputOptions.self, DetailOptions.self])
  }

  func run() throws {
    try PlainError.reporting {
      let player = TracePlayer(try TraceReader(opening: file))
      let recorded = try NetwatchTool.recorded(in: file, player.settings)
      var options = try recorded.lineOptions
      options.input = .replayed(player)
      options.player = player
      let renderer = try output.makeRenderer(saysWhy: details.verbose, showsTraffic: recorded.traffic.traffic)
      try Follower(options, renderer: renderer, count: recorded.count).run()
    }
  }
}
