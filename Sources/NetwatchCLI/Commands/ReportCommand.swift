import ArgumentParser
import Netwatch
import NetwatchLines

/// `netwatch report`: replaces this process with `netwatch-log report`, which knows the options.
struct ReportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report", abstract: "Write a web page about the outages and changes in the log.")

  @ParentCommand var root: NetwatchTool

  @Argument(
    parsing: .captureForPassthrough,
    help: ArgumentHelp("Options, and where the page goes; report --help lists them.", valueName: "options"),
    completion: .shellCommand("netwatch report --help | grep -oE -- '--[a-z-]+'"))
  var arguments: [String] = []

  mutating func validate() throws { try root.refuseOptions(before: Self.self) }

  func run() throws {
    try PlainError.reporting { try HelperProgram.log.become("report") }
  }
}
