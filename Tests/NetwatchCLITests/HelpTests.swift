import NetwatchOptions
import Testing

@testable import NetwatchCLI

@Suite struct HelpTests {
  private static var help: HelpText { HelpText(ParsedOptions.options.map(\.about)) }
  private static let lines = help.text(of: nil, isWhole: false).split(separator: "\n", omittingEmptySubsequences: false)
    .dropLast()

  @Test func `the help of netwatch fits a terminal of 24 lines and 80 columns`() {
    #expect(Self.lines.count < 24)
    #expect(Self.lines.allSatisfy { $0.columns <= 80 })
  }

  @Test func `the help of netwatch has every command, and options that there are`() throws {
    let text = Self.help.text(of: nil, isWhole: false)
    for name in Command.names { #expect(text.contains(try Regex(#"(?m)^  ([a-z-]+, )*\#(name)(,| {2})"#)), "\(name)") }
    let all = Self.help.text(of: nil, isWhole: true)
    let options = text.matches(of: /(?m)^  +(?:(-[a-z]), )?(--[a-z-]+)/).map(\.output.2)
    #expect(options.count >= 6)
    for option in options { #expect(all.contains(try Regex(#"(?m)^  (-[a-z], )?\#(option) "#)), "\(option)") }
  }
}
