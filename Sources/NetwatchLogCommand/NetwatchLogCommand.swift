import NetwatchEventLoop
import NetwatchOptions

/// `netwatch-log`: the commands that need SQLite, in a separate program, so that netwatch itself does not load SQLite.
@main
enum NetwatchLogCommand {
  static func main() {
    SignalSource.prepareProgram()
    let words = [String].ofCommandLine()
    let rest = Array(words.dropFirst())
    switch words.first {
    case Command.log.rawValue:
      Program.run(rest, LogOptions.options, for: .log, changing: LogOptions()) {
        try LogCommand(options: $0.values).run()
      }
    case Command.report.rawValue:
      Program.run(rest, LogOptions.options, for: .report, changing: LogOptions()) {
        try ReportCommand(options: $0.values).run()
      }
    case Command.write.rawValue:
      Program.run(rest, WriteCommand.options, for: .write, changing: WriteCommand()) { try $0.values.run() }
    default: Program.refuse("netwatch-log", insteadOf: .log)
    }
  }
}
