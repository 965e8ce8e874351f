import Foundation
import Netwatch
import NetwatchStream
import Testing

@testable import NetwatchCLI

/// Files and documents name the bars and the reasons that the code knows.
@Suite struct SnippetTests {
  private static let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..")

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: top.appending(path: path), encoding: .utf8)
  }

  /// Returns the words in a text that have the form of names and codes.
  private static func names(_ text: some StringProtocol) -> Set<String> {
    Set(String(text).matches(of: /[a-z0-9]+(?:[_-][a-z0-9]+)*/).map { String($0.output) })
  }

  /// Whether the recipes and the lists of bars in the manual page are written before they are compared.
  /// `NETWATCH_UPDATE_GOLDEN=1` does this.
  private static let writes = ProcessInfo.processInfo.environment["NETWATCH_UPDATE_GOLDEN"] != nil

  @Test(arguments: Bar.names)
  func `what is printed is what contrib tries in the bar`(name: String) throws {
    let bar = try Bar.named(name)
    let file = Self.top.appending(path: "contrib/bars").appending(path: name)
    if Self.writes { try Data((bar.snippet + "\n").utf8).write(to: file) }
    #expect(try String(contentsOf: file, encoding: .utf8) == bar.snippet + "\n")
    #expect(bar.snippet.contains("--format \(name)"))
  }

  @Test(arguments: Bar.all) func `a snippet takes the options of throughput`(bar: Bar) throws {
    let snippet = bar.snippet(with: ["--traffic", "--units", "bytes"])
    #expect(snippet.replacing(" --traffic --units bytes", with: "") == bar.snippet)
    #expect(snippet.contains("--format \(bar.name) --traffic --units bytes"))
    #expect(bar.isFed == (bar.name != "conky"))
  }

  @Test(arguments: Bar.all) func `a snippet that probes has a click open the login page, where bars have clicks`(
    bar: Bar
  ) {
    let url = "http://example.org/generate_204"
    let lines = bar.snippet(with: [], probing: url).split(separator: "\n").map(String.init)
    #expect(lines.contains { $0.contains("--format \(bar.name) --probe \(url)") })
    let clicks = lines.filter { $0.contains("netwatch open --probe \(url)") }
    #expect(clicks.count == (["waybar", "polybar", "i3status-rust"].contains(bar.name) ? 1 : 0))
  }

  @Test func `a click with the left button is one, and nothing else is`() {
    for line in [
      "1", #"{"name":"netwatch","instance":"v0","button":1,"modifiers":[],"x":1}"#,
      #",{"button": 1 , "name":"netwatch"}"#,
      #"{"button":1}"#,
    ] {
      #expect(BarClicks.isLeftClick(Array(line.utf8)), "\(line)")
    }
    for line in ["", "[", "2", "3", "11", #"{"button":2}"#, #"{"button":10}"#, #"{"x":1}"#, "[1", "button"] {
      #expect(!BarClicks.isLeftClick(Array(line.utf8)), "\(line)")
    }
  }

  @Test func `what --format understands, snippet does too`() throws {
    for name in Bar.names { #expect(try OutputFormat.named(name) == .bar(Bar.named(name))) }
    #expect(OutputFormat.names == ["text", "json"] + Bar.names)
    #expect(Set(Bar.names).count == Bar.names.count)
  }

  @Test func `the manual page and the README name every bar`() throws {
    func list(_ word: Substring) -> String {
      ".Cm \(Bar.names.dropLast().joined(separator: " , "))\n\(word)\n.Cm \(Bar.names.last ?? "") ."
    }
    var page = try Self.text("contrib/man/netwatch-bars.7")
    if Self.writes {
      page.replace(#/\.Cm waybar , .*\n(or|and)\n\.Cm [a-z0-9-]+ \./#) { list($0.output.1) }
      try Data(page.utf8).write(to: Self.top.appending(path: "contrib/man/netwatch-bars.7"))
    }
    #expect(page.contains(list("and")))
    let table = try Self.text("README.md").components(separatedBy: "| bar | |\n|---|---|\n")[1]
    let rows = table.split(separator: "\n", omittingEmptySubsequences: false).prefix { $0.hasPrefix("|") }
    // The bars with `--json` have no format of their own.
    let bars = rows.filter { !$0.contains("--json") }.map { $0.split(separator: "|")[0] }
    #expect(Self.names(bars.joined().replacing("GNU", with: "")) == Set(Bar.names))
  }

  @Test func `the article on the command, the manual page and the schema name every reason`() throws {
    let path = Set(ReachabilityReason.allCases.map(\.rawValue))
    let activity = Set(EventRecord.ActivityReason.allCases.map(\.rawValue))
    let paragraph = try Self.text("Sources/Netwatch/Netwatch.docc/TheCommand.md").components(
      separatedBy: "\n`reason` says why: ")[1]
      .components(separatedBy: "\n\n")[0]
    let quoted = paragraph.matches(of: /`([a-z_]+)`/).map { String($0.output.1) }
    #expect(Set(quoted) == path.union(activity))

    let section = try Self.text("contrib/man/netwatch-events.5").components(separatedBy: "\n.Sh REASONS\n")[1]
      .components(separatedBy: "\n.Sh ")[0]
    let items = section.split(separator: "\n").filter { $0.hasPrefix(".It Cm ") || $0.hasPrefix(".Cm ") }
    #expect(path.union(activity).subtracting(Self.names(items.joined(separator: " "))) == [])

    let schema = try JSONSerialization.jsonObject(with: Data(Self.text("contrib/schemas/event.schema.json").utf8))
    let definitions = try #require((schema as? [String: Any])?["$defs"] as? [String: [String: Any]])
    func reasons(_ kind: String) -> Set<String> { Set(definitions["\(kind)_reason"]?["enum"] as? [String] ?? []) }
    #expect(reasons("loss").union(reasons("gain")).union(reasons("wifi")) == path)
    #expect(reasons("activity") == activity)
  }
}
