import ArgumentParser
import NetwatchEventLoop

/// `netwatch-log`: the commands that need SQLite, in a separate program, so that netwatch itself does not load SQLite.
@main
struct NetwatchLogCommand: ParsableCommand {
  // Users know the commands as `netwatch log` and `netwatch report`, so help and errors use that name.
  static let configuration = CommandConfiguration(
    commandName: "netwatch", abstract: "Writes and reads the log of netwatch.", shouldDisplay: false,
    subcommands: [LogCommand.self, ReportCommand.self, WriteCommand.self])

  static func main() {
    SignalSource.prepareProgram()
    StandardError.tellOfLostOutput()
    // The help already contains every option.
    main([String].ofCommandLine().map { $0 == "--help-all" ? "--help" : $0 }.joiningNegativeValues())
  }
}
