import ArgumentParser
import Testing

@testable import NetwatchCLI

/// The table of common options gives what ArgumentParser gives.
@Suite struct CommonOptionsTests {
  /// A value that each option takes.
  private static let values = [
    "--format": "waybar", "--color": "never", "--template": "{ssid}", "--icons": "ascii", "--hide-when": "wired",
    "--for": "unmetered", "-i": "eth*", "--ignore": "docker0", "--target": "192.0.2.1", "--activity": "tcp,udp",
    "--hold": "2.5", "--exec": "true",
  ]

  private static func value(for names: [String]) throws -> String {
    try #require(names.compactMap { values[$0] }.first, "\(names) needs a value in this test")
  }

  /// Each option by each of its names.
  private static func lines(_ flags: [NetwatchTool.CommonFlag], _ options: [NetwatchTool.CommonOption]) throws -> [[String]] {
    try flags.flatMap { $0.names.map { [$0] } }
      + options.flatMap { option in try option.names.map { [$0, try value(for: option.names)] } }
  }

  private func parsed(_ words: [String]) -> String? {
    (try? NetwatchTool.parseAsRoot(words)).map { "\($0)" }
  }

  @Test func `each option alone, and each pair, means what ArgumentParser says`() throws {
    let lines = try Self.lines(
      NetwatchTool.commonFlags + NetwatchTool.commonFollowFlags,
      NetwatchTool.commonOptions + NetwatchTool.commonFollowOptions)
    var accepted = 0
    for line in [[]] + lines + lines.flatMap({ one in lines.map { one + $0 } }) {
      for words in [line, ["-f"] + line] {
        guard let common = NetwatchTool.common(words) else {
          // What the table refuses is a mistake: it knows each of these words.
          #expect(parsed(words) == nil, "\(words)")
          continue
        }
        accepted += 1
        #expect("\(common)" == parsed(words), "\(words)")
      }
    }
    #expect(accepted > lines.count * lines.count)
  }


  @Test(arguments: [
    ["--help"], ["-h"], ["--version"], ["wait"], ["explain"], ["status", "-f"], ["status", "--hold", "1"], ["-fv"], ["--format"],
    ["--format", "--json"], ["--format=json"], ["--format", "sixel"], ["--json", "status"], ["--", "--json"], ["status", "--prometheus"],
    ["--follow", "--check"], ["--template", "{nothing}"], ["--hold", "1"], ["--signal"], ["-f", "--hold", "-1"], ["stauts"], [""],
  ])
  func `everything else is left to ArgumentParser`(_ words: [String]) {
    #expect(NetwatchTool.common(words) == nil)
  }

  @Test func `status has the options that it has by itself`() throws {
    for line in [[]] + (try Self.lines(NetwatchTool.commonFlags, NetwatchTool.commonOptions)) {
      let words = ["status"] + line
      #expect(try NetwatchTool.parseAsRoot(words) is StatusCommand, "\(words)")
      guard let common = NetwatchTool.common(words) else { continue }
      #expect("\(common)" == parsed(line), "\(words)")
    }
  }
}
