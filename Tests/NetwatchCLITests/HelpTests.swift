import ArgumentParser
import Testing

@testable import NetwatchCLI

@Suite struct HelpTests {
  private static let lines = NetwatchTool.shortHelp.split(separator: "\n", omittingEmptySubsequences: false).dropLast()

  @Test func `the help of netwatch fits a terminal of 24 lines and 80 columns`() {
    #expect(Self.lines.count < 24)
    #expect(Self.lines.allSatisfy { $0.columns <= 80 })
  }

  @Test func `the help of netwatch has every command, and options that there are`() throws {
    let text = NetwatchTool.shortHelp
    for command in NetwatchTool.configuration.subcommands {
      let name = try #require(command.configuration.commandName)
      #expect(text.contains(try Regex(#"(?m)^  ([a-z-]+, )*\#(name)(,| {2})"#)), "\(name)")
    }
    let all = NetwatchTool.helpMessage(includeHidden: true)
    let options = text.matches(of: /(?m)^  +(?:(-[a-z]), )?(--[a-z-]+)/).map(\.output.2)
    #expect(options.count >= 6)
    for option in options { #expect(all.contains(try Regex(#"(?m)^  (-[a-z], )?\#(option) "#)), "\(option)") }
  }

  @Test(arguments: [
    (["help", "--all"], ["--help"]), (["status", "--help-all"], ["status", "--help"]),
    (["run", "--", "x", "--help-all"], ["run", "--", "x", "--help-all"]),
    (["-f", "--signal"], ["-f", "--signal=steps"]), (["-f", "--signal", "dbm"], ["-f", "--signal", "dbm"]),
  ])
  func `words are put into ArgumentParser's form`(words: [String], form: [String]) {
    #expect(NetwatchTool.arguments(words) == form)
  }
}
