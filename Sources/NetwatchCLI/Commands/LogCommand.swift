import ArgumentParser
import Netwatch
import NetwatchLines

/// `netwatch log`: replaces this process with `netwatch-log log`, which knows the options.
struct LogCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "log", abstract: "Print the changes in the log, or the outages.")

  @ParentCommand var root: NetwatchTool

  @Argument(
    parsing: .captureForPassthrough,
    help: ArgumentHelp("Options; log --help lists them.", valueName: "options"),
    completion: .shellCommand("netwatch log --help | grep -oE -- '--[a-z-]+'"))
  var arguments: [String] = []

  mutating func validate() throws { try root.refuseOptions(before: Self.self) }

  func run() throws {
    try PlainError.reporting { try HelperProgram.log.become("log") }
  }
}
