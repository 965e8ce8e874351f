import ArgumentParser

/// `netwatch-log`: what netwatch needs SQLite for, in a program of its own, so that netwatch itself does not map it.
@main
struct NetwatchLogCommand: ParsableCommand {
  // People know it as `netwatch log` and `netwatch report`, so that is what its help and its errors say.
  static let configuration = CommandConfiguration(
    commandName: "netwatch", abstract: "Writes and reads the log of netwatch.", shouldDisplay: false,
    subcommands: [LogCommand.self, ReportCommand.self, WriteCommand.self])

  static func main() {
    // Every option is in the help already.
    main(CommandLine.arguments.dropFirst().map { $0 == "--help-all" ? "--help" : $0 })
  }
}
