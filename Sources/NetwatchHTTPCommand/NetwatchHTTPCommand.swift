import NetwatchEventLoop
import NetwatchOptions

/// `netwatch-http`: the parts of netwatch that need libcurl, in a separate program, so that netwatch itself does not load it.
@main
enum NetwatchHTTPCommand {
  static func main() {
    SignalSource.prepareProgram()
    let words = [String].ofCommandLine()
    switch words.first {
    case Command.get.rawValue:
      Program.run(Array(words.dropFirst()), GetOptions.options, for: .get, changing: GetOptions()) { line in
        try GetCommand(line.values).run()
      }
    case Command.transfers.rawValue:
      Program.run(Array(words.dropFirst()), TransfersOptions.options, for: .transfers, changing: TransfersOptions()) {
        try TransfersCommand($0.values).run()
      }
    case Command.work.rawValue:
      Program.run(Array(words.dropFirst()), WorkCommand.options, for: .work, changing: WorkCommand()) {
        try $0.values.run()
      }
    case Command.probe.rawValue:
      Program.run(Array(words.dropFirst()), ProbeCommand.options, for: .probe, changing: ProbeCommand()) { line in
        try line.values.run()
      }
    case Command.portal.rawValue:
      Program.run(Array(words.dropFirst()), PortalCommand.options, for: .portal, changing: PortalCommand()) { line in
        try line.values.run()
      }
    default: Program.refuse("netwatch-http", insteadOf: .get)
    }
  }
}
