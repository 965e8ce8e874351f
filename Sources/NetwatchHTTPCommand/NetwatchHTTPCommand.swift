import ArgumentParser

/// `netwatch-http`: what netwatch needs libcurl for, in a program of its own, so that netwatch itself maps none.
@main
struct NetwatchHTTPCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "netwatch-http", abstract: "Makes HTTP requests for netwatch.", shouldDisplay: false,
    subcommands: [
      GetCommand.self, ProbeCommand.self,
    ])
}
