import ArgumentParser
import Netwatch
import NetwatchLines

/// `netwatch get`: replaces this process with `netwatch-http get`, which knows the options.
struct GetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Download a file, and resume an interrupted download.")

  @ParentCommand var root: NetwatchTool

  @Argument(
    parsing: .captureForPassthrough,
    help: ArgumentHelp("Options, and where the file is; get --help lists them.", valueName: "options"),
    completion: .shellCommand("netwatch get --help | grep -oE -- '--[a-z-]+'"))
  var arguments: [String] = []

  mutating func validate() throws { try root.refuseOptions(of: Self.self) }

  func run() throws {
    try PlainError.reporting { try HelperProgram.http.become("get") }
  }
}
