import ArgumentParser
import Netwatch
import NetwatchNetlink

/// `netwatch replay`: prints the lines of a recording.
struct ReplayCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay", abstract: "Print the lines that a recording leads to.",
    discussion: """
      'netwatch --follow --record FILE' makes a recording. replay asks neither the kernel nor a service, and does not wait \
      between lines. It stops with exit status 2 where the file is damaged, or where this netwatch would ask the kernel something \
      that the recording does not contain.
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
