import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// Names that strangers choose. No command writes a character of them that could control a terminal, in any format.
@Suite struct StrangeNameTests {
  /// Names of links, each at most 15 bytes long. They contain control characters of C0 and C1, DEL, a character that
  /// changes the direction of text, a line separator, and markup.
  private static let names = ["v\u{1b}[2J\u{7}", "v\u{9b}31m\u{7f}", "v\u{202e}a\u{2028}", "v\"$(x)'`<b>&"]

  private static let bars = [
    "waybar", "i3bar", "swaybar", "i3blocks", "i3status-rust", "polybar", "lemonbar", "xmobar", "tmux", "conky", "dwm",
    "screen",
  ]

  /// Commands that exit with status 0 if the network is reachable.
  private static let commands: [[String]] =
    [
      ["status"], ["status", "--json"], ["status", "--interfaces", "-v"], ["status", "--interfaces", "--json"],
      ["status", "--prometheus"], ["--check"], ["status", "-v", "--quality", "--stages"], ["explain"],
      ["explain", "-v"],
      ["explain", "--json"], ["explain", "192.0.2.1"], ["explain", "192.0.2.1", "--json"], ["wait", "-t", "5"],
      ["-f", "-v", "--format", "text", "--interfaces", "--count", "1"],
      ["-f", "--format", "text", "--traffic", "--traffic-interval", "0.1", "--count", "3"],
      ["-f", "--json", "--traffic", "--traffic-interval", "0.1", "--interfaces", "--count", "3"],
      ["top", "--once", "--format", "text"], ["top", "--once", "--format", "json"],
      ["-f", "--json", "--count", "1", "--exec", "env | grep -a ^NETWATCH_; cat"],
    ] + bars.map { ["-f", "--count", "1", "--format", $0, "--template", "{interface} {medium} {ssid} {vpn}"] }

  @Test(arguments: names) func `no command writes what steers a terminal`(name: String) throws {
    let namespace = try NetworkNamespace.withPair()
    let quoted = "'\(name.replacing("'", with: "'\\''"))'"
    try namespace.run(
      "ip link set v0 down", "ip link set v0 name \(quoted)", "ip link set \(quoted) up",
      "ip addr add 10.0.0.1/24 dev \(quoted)", "ip route add default via 10.0.0.2")
    let folder = try TemporaryFolder()
    let trace = folder.file("trace")
    var commands = Self.commands
    commands += [["-f", "--json", "--record", trace, "--count", "1"], ["replay", trace, "--format", "text", "-v"]]
    commands += [["replay", trace, "--json"], ["-f", "--json", "--log", "--count", "1"], ["log"], ["log", "--json"]]
    commands += [["log", "--csv"], ["report", "-"]]
    var shown = 0
    for command in commands {
      let result = try ChildProcess.run(
        namespace.command([Programs.netwatch] + command),
        environment: ["XDG_STATE_HOME=\(folder.path)", "LC_ALL=C.UTF-8"])
      #expect(result.ending == .exited(0), "\(command): \(result.error)")
      let text = result.output.joined(separator: "\n") + result.error
      #expect(text.steering == [], "\(command): \(text.debugDescription)")
      // The other end of the pair has a plain name.
      if text.contains("v?") || text.contains("v\\u") || text.contains("v\"") { shown += 1 }
    }
    #expect(shown > 5)
  }

  /// Text that a stranger has written into a recording is shown without control characters, as all other text is.
  @Test func `a recording of somebody else steers nothing`() throws {
    let folder = try TemporaryFolder()
    let lines = try String(contentsOf: RecordReplayTests.cablePulled, encoding: .utf8)
    let file = try folder.write(lines + "turn \u{1b}[2J\u{9b}\u{202e}\n", to: "a\u{1b}[31mb")
    let result = try ChildProcess.run([Programs.netwatch, "replay", file.path, "--format", "text"])
    #expect(result.ending == .exited(2))
    #expect((result.output.joined() + result.error).steering == [], "\(result.error.debugDescription)")
  }
}
