import Netwatch
import NetwatchEventLoop
import NetwatchLines
import NetwatchNetlink
import NetwatchOptions

/// The program netwatch.
public enum NetwatchProgram {
  /// Does what a command line asks for, and ends the process.
  ///
  /// - Parameter words: The command line without the name of the program.
  public static func run(_ words: [String]) -> Never {
    Program.run(
      words, ParsedOptions.options,
      beside: GetOptions.options.map(\.about) + TransfersOptions.options.map(\.about) + LogOptions.options.map(\.about)
        + PublishOptions.options.map(\.about),
      changing: ParsedOptions()
    ) { line in
      var line = line
      line.values.readRules(for: line.command)
      try line.check()
      line.values.network = try line.values.place.map { place throws(PlainError) in try ForeignNetwork(entering: place)
      }
      let options = line.values
      switch line.command {
      case .follow: return try FollowCommand(options: options).run()
      case .status: return try StatusCommand(options: options).run()
      case .wait: return try WaitCommand(options: options).run()
      case .explain: return try ExplainCommand(options: options).run()
      case .open: return try OpenCommand(options: options).run()
      case .serve: return try ServeCommand(options: options).run()
      case .run: return try RunCommand(options: options).run()
      case .top: return try TopCommand(options: options).run()
      case .replay: return try ReplayCommand(options: options).run()
      case .snippet: return try SnippetCommand(options: options).run()
      case .testHook: return try TestHookCommand(options: options).run()
      case .get, .transfers, .work, .probe, .portal: try HelperProgram.http.become(line.command.rawValue)
      case .log, .report, .write: try HelperProgram.log.become(line.command.rawValue)
      case .mqtt: try HelperProgram.mqtt.become(line.command.rawValue)
      }
    }
  }
}
