import ArgumentParser
import NetwatchEventLoop

/// `netwatch-http`: the parts of netwatch that need libcurl, in a separate program, so that netwatch itself does not load it.
@main
struct NetwatchHTTPCommand: ParsableCommand {
  // Users only know this program as `netwatch get`, so help and errors use that name.
  static let configuration = CommandConfiguration(
    commandName: "netwatch", abstract: "Makes HTTP requests for netwatch.", shouldDisplay: false,
    subcommands: [
      GetCommand.self, ProbeCommand.self,
    ])

  static func main() {
    SignalSource.prepareProgram()
    StandardError.tellOfLostOutput()
    // The help already has every option.
    main([String].ofCommandLine().map { $0 == "--help-all" ? "--help" : $0 }.joiningNegativeValues())
  }
}
