import ArgumentParser
import NetwatchHTTPOptions

/// `netwatch get`: refuses wrong usage, and becomes `netwatch-http get`.
struct GetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: GetOptions.abstract, discussion: GetOptions.discussion)

  @ParentCommand var root: NetwatchTool
  @OptionGroup var options: GetOptions

  mutating func validate() throws { try root.refuseOptions(of: Self.self) }

  func run() throws {
    try CommandFailure.reporting { try HTTPHelper.become("get") }
  }
}
