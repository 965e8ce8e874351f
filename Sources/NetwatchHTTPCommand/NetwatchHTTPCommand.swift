import ArgumentParser

/// `netwatch-http`: what netwatch needs libcurl for, in a program of its own, so that netwatch itself maps none.
@main
struct NetwatchHTTPCommand: ParsableCommand {
  // People know it as `netwatch get` alone, so that is what its help and its errors say.
  static let configuration = CommandConfiguration(
    commandName: "netwatch", abstract: "Makes HTTP requests for netwatch.", shouldDisplay: false,
    subcommands: [
      GetCommand.self, ProbeCommand.self,
    ])

  static func main() {
    // Every option is in the help already.
    main(CommandLine.arguments.dropFirst().map { $0 == "--help-all" ? "--help" : $0 })
  }
}
