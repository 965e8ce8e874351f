import Foundation
import NetwatchTestSupport
import Testing

@testable import NetwatchCLI
@testable import NetwatchOptions

/// The table of options in the article about the command.
@Suite struct OptionTableTests {
  private static let article = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
    path: "../../Sources/Netwatch/Netwatch.docc/TheCommand.md")

  /// Returns a text for a cell of the table, in which a word in angle brackets must not become an HTML tag.
  private static func cell(_ text: String) -> String {
    text.replacing("|", with: "\\|").replacing("<", with: "\\<")
  }

  private static func row(_ option: OptionDescription) -> String {
    let names = option.names.dropLast() + [option.label(option.name)]
    let commands = option.commands.map { $0 == .follow ? "-f" : $0.rawValue }
    // The first text is that of most commands. The texts of the other commands follow.
    let most = option.commands.first { command in !option.otherHelp.contains { $0.commands.contains(command) } }
    var texts = most.map { [option.help(in: $0)] } ?? []
    for (commands, text) in option.otherHelp {
      texts.append("\(commands.map(\.rawValue).joined(separator: ", ")): \(text())")
    }
    return "| \(names.map { "`\($0)`" }.joined(separator: ", ")) | \(commands.joined(separator: ", ")) "
      + "| \(cell(texts.joined(separator: " "))) |"
  }

  @Test func `the article has the options of the table`() throws {
    let options = ParsedOptions.options.map(\.about).filter { !$0.isOperand }
    #expect(options.count > 50)
    let table = (["| option | of | what it does |", "|---|---|---|"] + options.map(Self.row)).joined(separator: "\n")
    let text = try String(contentsOf: Self.article, encoding: .utf8)
    let start = try #require(text.range(of: "### All options\n")).upperBound
    let intro = try #require(text[start...].range(of: "\n\n", range: text.index(after: start)..<text.endIndex))
      .upperBound
    // `NETWATCH_UPDATE_GOLDEN=1` writes the table before the comparison.
    if ProcessInfo.processInfo.environment["NETWATCH_UPDATE_GOLDEN"] != nil {
      try Data((text[..<intro] + table + "\n").utf8).write(to: Self.article)
    }
    #expect(try String(contentsOf: Self.article, encoding: .utf8).hasSuffix("\n\n\(table)\n"))
  }
}
