import ArgumentParser
import Testing

@testable import NetwatchCLI

/// The table of common options gives what ArgumentParser gives.
@Suite struct CommonOptionsTests {
  /// A value that each option takes.
  private static let values = [
    "--format": "waybar", "--color": "never", "--template": "{ssid}", "--icons": "ascii", "--hide-when": "wired",
    "--for": "unmetered", "-i": "eth*", "--ignore": "docker0", "--target": "192.0.2.1", "--activity": "tcp,udp",
    "--hold": "2.5", "--exec": "true", "--count": "3",
  ]

  private static func value(for names: [String]) throws -> String {
    try #require(names.compactMap { values[$0] }.first, "\(names) needs a value in this test")
  }

  /// Each option by each of its names.
  private static func lines(_ flags: [NetwatchTool.CommonFlag], _ options: [NetwatchTool.CommonOption]) throws
    -> [[String]]
  {
    try flags.flatMap { $0.names.map { [$0] } }
      + options.flatMap { option in try option.names.map { [$0, try value(for: option.names)] } }
  }

  /// What ArgumentParser makes of a command line; nil if that is a mistake.
  private func parsed(_ words: [String]) throws -> String? {
    guard let command = try? NetwatchTool.parseAsRoot(words) else { return nil }
    let tool = try #require(command as? NetwatchTool)
    if !tool.follow, (try? tool.refuseOptionsOfFollow()) == nil { return nil }
    return "\(tool)"
  }

  @Test func `each option, alone and with another one, means what ArgumentParser says`() throws {
    let lines = try Self.lines(
      NetwatchTool.commonFlags + NetwatchTool.commonFollowFlags,
      NetwatchTool.commonOptions + NetwatchTool.commonFollowOptions)
    let pairs = zip(lines, lines.dropFirst() + lines.prefix(1)).map { $0 + $1 }
    let linesOfStatus = try Set(Self.lines(NetwatchTool.commonFlags, NetwatchTool.commonOptions) + [[]])
    for line in [[]] + lines + pairs {
      for words in [line, ["-f"] + line] {
        let parsed = try parsed(words)
        #expect(NetwatchTool.common(words).map { "\($0)" } == parsed, "\(words)")
        // Parsed once for both, because a debug build of ArgumentParser takes 30 ms for each line.
        guard linesOfStatus.contains(words) else { continue }
        #expect(NetwatchTool.common(["status"] + words).map { "\($0)" } == parsed, "status \(words)")
      }
    }
    #expect(lines.count { NetwatchTool.common(["-f"] + $0) == nil } < 3)
  }

  @Test(arguments: [
    ["--help"], ["-h"], ["--version"], ["wait"], ["explain"], ["status", "-f"], ["status", "--hold", "1"], ["-fv"],
    ["--format"],
    ["--format", "--json"], ["--format=json"], ["--format", "sixel"], ["--json", "status"], ["--", "--json"],
    ["status", "--prometheus"],
    ["--follow", "--check"], ["--template", "{nothing}"], ["--hold", "1"], ["-f", "--count", "0"],
    ["-f", "--count", "x"], ["--count", "1"], ["--signal"], ["-f", "--hold", "-1"],
    ["stauts"], [""],
  ])
  func `everything else is left to ArgumentParser`(_ words: [String]) {
    #expect(NetwatchTool.common(words) == nil)
  }

  @Test func `status has the options that it has by itself`() throws {
    for line in [[]] + (try Self.lines(NetwatchTool.commonFlags, NetwatchTool.commonOptions)) {
      let common = NetwatchTool.common(["status"] + line)
      #expect(((try? NetwatchTool.parseAsRoot(["status"] + line)) is StatusCommand) == (common != nil), "\(line)")
    }
  }
}
