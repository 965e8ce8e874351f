import Foundation
import NetwatchTestSupport
import Testing

/// Tests of what the programs say about their options: every help text, and the answer to every mistake, as in
/// Golden/command-line.
///
/// With `NETWATCH_UPDATE_GOLDEN=1` the tests write the files instead. Read them before you commit them.
@Suite struct CommandLineTests {
  private static let isUpdating = ProcessInfo.processInfo.environment["NETWATCH_UPDATE_GOLDEN"] != nil
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appending(path: "Golden/command-line")

  private static let commands = [
    "status", "wait", "explain", "open", "get", "transfers", "serve", "run", "top", "log", "report", "mqtt", "replay",
    "snippet",
    "test-hook",
  ]

  /// Returns a command line with what netwatch answers to it: its output, its standard error and how it ended.
  private static func answer(to words: [String]) throws -> String {
    let result = try ChildProcess.run([Programs.netwatch] + words)
    let shown = words.map { $0.isEmpty || $0.contains(where: " '{<*".contains) ? "\"\($0)\"" : $0 }
    var text = "$ netwatch \(shown.joined(separator: " "))\n"
    text += result.output.map { $0 + "\n" }.joined()
    if !result.error.isEmpty { text += result.error + "\n" }
    return text + "[\(result.ending)]\n\n"
  }

  private static func compare(_ text: String, with name: String) throws {
    let file = folder.appending(path: name + ".txt")
    if isUpdating {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      return try text.write(to: file, atomically: true, encoding: .utf8)
    }
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let golden = try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
    let place = zip(lines, golden).enumerated().first { $0.element.0 != $0.element.1 }?.offset
    if let place {
      Issue.record("\(name).txt:\(place + 1) is \"\(golden[place])\", and now \"\(lines[place])\"")
    } else {
      #expect(lines.count == golden.count)
    }
  }

  @Test func `the help of netwatch`() throws {
    try Self.compare(
      [["--help"], ["-h"], ["help"], ["--help-all"], ["help", "--all"], ["--version"]].map(Self.answer).joined(),
      with: "help")
  }

  @Test(arguments: commands)
  func `the help of a command`(_ command: String) throws {
    let ways = [[command, "--help"], [command, "--help-all"], ["help", command]]
    try Self.compare(ways.map(Self.answer).joined(), with: "help-\(command)")
  }

  @Test func `the answers to mistakes in the form of a command line`() throws {
    try Self.compare(Self.malformed.map(Self.answer).joined(), with: "malformed")
  }

  @Test func `the answers to wrong values`() throws {
    try Self.compare(Self.wrongValues.map(Self.answer).joined(), with: "wrong-values")
  }

  @Test func `the answers to options that do not fit together`() throws {
    try Self.compare(Self.contradictions.map(Self.answer).joined(), with: "contradictions")
  }

  @Test func `the answers to options that a command has no use for`() throws {
    try Self.compare(Self.useless.map(Self.answer).joined(), with: "useless")
  }

  private static let malformed: [[String]] = [
    ["--folow"], ["--prety"], ["--xyzzy"], ["-z"], ["-fz"], ["-zf"], ["--json=3"], ["--follow=yes"],
    ["-f=1"], ["--hold"], ["-f", "--hold"], ["--format"], ["--format", "--json"], ["-i"], ["-f", "-i"], ["--count"],
    ["--count", "-1", "-f"], ["--count=-1", "-f"], ["wait", "-t"], ["wait", "-t", "-5"], ["wait", "-t-5"],
    ["wiat"], ["tpo"], ["sta"], ["nonsense"], [""], ["stauts", "--json"], ["help", "nosuch"], ["help", "statu"],
    ["--", "status"], ["-f", "x"], ["--json", "x", "y"], ["status", "now"], ["status", "a", "b", "c"],
    ["status", "--folow"], ["status", "--hlod", "3"], ["status", "--verbos"], ["status", "-z"],
    ["explain", "192.0.2.1", "192.0.2.2"], ["explain", "--all"], ["explain", "--tareget", "x"],
    ["wait", "5"], ["wait", "--timeot", "5"], ["wait", "--quit"], ["open"], ["open", "x"], ["open", "--prob", "x"],
    ["serve", "x"], ["serve", "--sockt", "/x"], ["serve", "--connections"], ["run"], ["run", "--"],
    ["run", "--label", "x"], ["run", "--labl", "x", "--", "true"], ["run", "--label"],
    ["top", "now"], ["top", "--onec"], ["top", "--sort"], ["replay"], ["replay", "a", "b"], ["replay", "--jsn", "a"],
    ["snippet"], ["snippet", "tmux", "polybar"], ["snippet", "tmux", "--trafic"], ["test-hook"],
    ["test-hook", "a", "b"], ["test-hook", "--statu", "wifi", "a"],
    ["get"], ["get", "http://127.0.0.1/a", "b"], ["get", "--ouput", "x", "http://127.0.0.1/a"], ["get", "-H"],
    ["get", "--header"], ["get", "-z", "http://127.0.0.1/a"], ["log", "x"], ["log", "--sicne", "1d"],
    ["log", "--since"], ["log", "--file"], ["report"], ["report", "a", "b"], ["report", "--sicne", "1d", "a"],
  ]

  private static let wrongValues: [[String]] = [
    ["--format", "wayber"], ["--format", "sixel"], ["--format", ""], ["--color", "blue"], ["--color", "alwas"],
    ["--icons", "emoji"], ["--icons", "nred"], ["--max-width", "0"], ["--max-width", "x"], ["--hide-when", "dark"],
    ["--hide-when", "idel"], ["--template", "{sid}"], ["--template", "{"], ["--template", "{nothing}"],
    ["--format", "polybar", "--template", "%{{F{ssid}}}"], ["--format", "waybar", "--template", "<b>{ssid}"],
    ["--for", "lunch"], ["--check", "--for", "lunch"], ["wait", "--for", "wfi"], ["wait", "--for", "ssid="],
    ["wait", "--for", "ssid=123456789012345678901234567890123"], ["wait", "--for", "network=1"],
    ["wait", "--for", "stage=gatway"], ["wait", "--for", "stage="], ["wait", "--for", "moon=full"],
    ["-f", "--hold", "soon"], ["-f", "--hold", "-1"], ["-f", "--hold", "nan"], ["-f", "--hold", "1e300"],
    ["-f", "--hold", ""], ["-f", "--count", "x"], ["-f", "--count", "0"], ["-f", "--count", "1.5"],
    ["-f", "--count", "99999999999999999999"],
    ["--target", "https://example.org"], ["--target", "example..org"], ["--target", "example.org:0"],
    ["--target", "127.0.0.1"], ["--target", "fe80::1"], ["--target", ""], ["explain", ""],
    ["explain", "\u{0300}a.example"], ["--activity", "lunch"], ["--activity", ""], ["--activity-ignore", "x:y"],
    ["-f", "--activity", "tcp", "--activity-ignore", ""],
    ["-f", "--activity", "tcp", "--activity-ignore", "10.0.0.0/40"],
    ["-f", "--activity", "tcp", "--activity-interval", "0.01"],
    ["-f", "--activity", "tcp", "--activity-interval", "x"],
    ["-f", "--activity", "tcp", "--activity-patience", "0"], ["--probe", "example.org"], ["--probe", "ftp://x"],
    ["--probe", "http://"], ["--probe", "http://a b"],
    ["-f", "--probe", "http://127.0.0.1/", "--probe-interval", "0.01"],
    ["--probe", "http://127.0.0.1/", "--probe-timeout", "0"], ["--probe", "http://127.0.0.1/", "--probe-timeout", "x"],
    ["--probe", "http://127.0.0.1/", "--probe-expect", ""], ["-f", "--traffic", "--traffic-interval", "0.01"],
    ["-f", "--traffic", "--traffic-interval", "x"], ["-f", "--traffic", "--units", "octets"],
    ["-f", "--signal=loud"], ["-f", "--exec", "true", "--exec-timeout", "x"], ["-f", "--hooks", ""],
    ["wait", "-t", "x"], ["wait", "-t", "1e300"], ["wait", "-t", "-1"], ["serve", "--connections", "0"],
    ["serve", "--connections", "x"], ["top", "--sort", "size"], ["top", "--sort", "nmae"], ["top", "--units", "x"],
    ["snippet", "wayber"], ["snippet", "lunch"], ["snippet", "tmux", "--probe", "http://127.0.0.1/?a&b"],
    ["test-hook", "--status", "up", "a"], ["test-hook", "--status", "wfi", "a"],
    ["test-hook", "--ssid", "123456789012345678901234567890123", "a"],
    ["run", "--label", String(repeating: "x", count: 257), "--", "true"],
    ["get", "x"], ["get", "ftp://x/y"], ["get", "http:///a"], ["get", "http://127.0.0.1:0/a"],
    ["get", "http://127.0.0.1/"],
    ["get", "--pin", "x", "http://127.0.0.1/a"], ["get", "--output", "", "http://127.0.0.1/a"],
    ["get", "--retry", "x", "http://127.0.0.1/a"], ["get", "--retry", "1001", "http://127.0.0.1/a"],
    ["get", "--retry", "-1", "http://127.0.0.1/a"], ["get", "--path-loss-grace", "x", "http://127.0.0.1/a"],
    ["get", "--path-loss-grace", "-1", "http://127.0.0.1/a"],
    ["get", "--path-loss-grace", "86401", "http://127.0.0.1/a"],
    ["get", "-H", "x", "http://127.0.0.1/a"], ["get", "-H", "a b: c", "http://127.0.0.1/a"],
    ["get", "-H", "Range: bytes=0-", "http://127.0.0.1/a"], ["log", "--since", "soon"], ["log", "--since", "2026-13"],
    ["log", "--since", "7x"], ["report", "--since", "x", "a"], ["report", ""],
  ]

  private static let contradictions: [[String]] = [
    ["--json", "--format", "text"], ["--json", "--icons", "nerd"], ["--json", "--template", "{ip}"],
    ["--format", "json", "--max-width", "3"], ["--hold", "1"], ["--count", "3"], ["--signal"], ["--signal", "dbm"],
    ["--nudge"], ["--nudge", "--stages"], ["-f", "--nudge"], ["--record", "x"], ["-f", "--check"],
    ["-f", "--network-id"], ["-f", "--for", "wifi"], ["--for", "wifi"], ["status", "--for", "wifi"],
    ["--check", "--for", "not-reachable", "--for", "wifi"],
    ["--check", "--for", "not-reachable", "--probe", "http://127.0.0.1/"], ["--check", "--for", "stage=dns"],
    ["wait", "--for", "stage=internet"], ["-f", "--record", "x", "--activity", "tcp"],
    ["-f", "--record", "x", "--probe", "http://127.0.0.1/"], ["-f", "--record", "x", "--stages"],
    ["-f", "--log", "-i", "eth0"], ["-f", "--log", "--ignore", "eth0"], ["-f", "--log", "--target", "192.0.2.1"],
    ["--log"], ["--exec", "true"], ["--hooks", "/x"], ["-f", "--exec-timeout", "3"], ["--exec-timeout", "3"],
    ["--traffic"], ["-f", "--traffic-interval", "2"], ["--traffic-interval", "2"], ["-f", "--units", "bytes"],
    ["--units", "bytes"], ["--probe-interval", "3"], ["--probe", "http://127.0.0.1/", "--probe-interval", "3"],
    ["-f", "--probe-interval", "3"], ["--probe-timeout", "3"], ["--probe-expect", "x"], ["--activity", "udp"],
    ["status", "--activity", "udp"], ["--activity-ignore", "80"], ["--activity-interval", "1"],
    ["--activity-patience", "1"], ["-f", "--activity", "udp", "--activity-patience", "1"],
    ["status", "--prometheus", "--template", "{ip}"], ["status", "--prometheus", "--json"],
    ["status", "--prometheus", "-v"], ["status", "--prometheus", "--interfaces"],
    ["status", "--prometheus", "--quality"],
    ["status", "--prometheus", "--bssid"], ["explain", "--format", "tmux"],
    ["explain", "--target", "192.0.2.1", "192.0.2.2"],
    ["explain", "--probe", "http://127.0.0.1/", "--probe-interval", "2"],
    ["open", "--probe", "http://127.0.0.1/", "--probe-interval", "2"], ["top", "--format", "tmux"],
    ["top", "--json", "--sort", "name"], ["top", "--json", "--units", "bytes"],
    ["serve", "--traffic"], ["serve", "--log", "--traffic-interval", "2"], ["serve", "--traffic-interval", "2"],
    ["serve", "--exec-timeout", "2"], ["snippet", "tmux", "--units", "bytes"],
    ["snippet", "tmux", "--traffic-interval", "2"],
    ["snippet", "conky", "--traffic"], ["snippet", "tmux", "--probe", "http://127.0.0.1/", "--probe-timeout", "2"],
    ["test-hook", "--status", "wwan", "--ssid", "x", "a"], ["log", "--json", "--csv"],
  ]

  /// Command lines that give an option of several commands to a command that refuses it.
  private static let useless: [[String]] = {
    let options: [[String]] = [
      ["-f"], ["--format", "text"], ["--json"], ["--color", "never"], ["--icons", "ascii"], ["--template", "{ip}"],
      ["--max-width", "9"], ["--hide-when", "idle"], ["--interfaces"], ["--check"], ["--network-id"], ["-i", "eth0"],
      ["--ignore", "eth0"], ["--wwan", "eth0"], ["--tunnel", "eth0"], ["--expensive", "x"], ["--not-expensive", "x"],
      ["--link-local"], ["--target", "192.0.2.1"], ["--for", "wifi"], ["--hold", "1"], ["--count", "1"],
      ["--no-service"], ["--activity", "tcp"], ["-v"], ["--programs"], ["--probe", "http://127.0.0.1/"], ["--traffic"],
      ["--units", "bytes"], ["--wifi-details"], ["--bssid"], ["--signal"], ["--quality"], ["--stages"], ["--nudge"],
      ["--exec", "true"], ["--hooks", "/x"], ["--exec-timeout", "3"], ["--record", "x"], ["--log"],
    ]
    // The words of each command end it before it does anything.
    let refused: [[String]] = [
      ["run", "--", "true"], ["snippet", "tmux"], ["replay", "/dev/null/x"], ["test-hook", "/dev/null/x"],
    ]
    let others: [(command: [String], options: Set<String>)] = [
      (
        ["status"],
        [
          "-f", "--hold", "--count", "--traffic", "--units", "--signal", "--nudge", "--exec", "--hooks",
          "--exec-timeout", "--record", "--log", "--for",
        ]
      ),
      (
        ["wait", "-t", "0"],
        [
          "-f", "--interfaces", "--check", "--network-id", "--hold", "--count", "--no-service",
          "--activity", "--programs", "--traffic", "--units", "--wifi-details", "--bssid", "--signal", "--quality",
          "--stages", "--nudge", "--exec", "--hooks", "--exec-timeout", "--record", "--log",
        ]
      ),
      (
        ["explain"],
        [
          "-f", "--icons", "--template", "--max-width", "--hide-when", "--interfaces", "--check",
          "--network-id", "--for", "--hold", "--count", "--no-service", "--activity", "--programs", "--traffic",
          "--units", "--wifi-details", "--bssid", "--signal", "--quality", "--stages", "--nudge", "--exec", "--hooks",
          "--exec-timeout", "--record", "--log",
        ]
      ),
      (
        ["top", "--once"],
        [
          "-f", "--icons", "--template", "--max-width", "--hide-when", "--interfaces", "--check",
          "--network-id", "-i", "--ignore", "--wwan", "--tunnel", "--expensive", "--not-expensive", "--link-local",
          "--target", "--for", "--hold", "--count", "--no-service", "--activity", "-v", "--programs", "--probe",
          "--traffic", "--wifi-details", "--bssid", "--signal", "--quality", "--stages", "--nudge", "--exec",
          "--hooks", "--exec-timeout", "--record", "--log",
        ]
      ),
      (
        ["serve", "--socket", "/dev/null/x"],
        [
          "-f", "--format", "--json", "--color", "--icons", "--template",
          "--max-width", "--hide-when", "--interfaces", "--check", "--network-id", "-i", "--ignore", "--wwan",
          "--tunnel", "--expensive", "--not-expensive", "--link-local", "--target", "--for", "--hold", "--count",
          "--no-service", "--programs", "--probe", "--traffic", "--units", "--wifi-details", "--bssid", "--signal",
          "--quality", "--stages", "--nudge", "--exec-timeout", "--record",
        ]
      ),
    ]
    func lines(_ command: [String], _ options: [[String]]) -> [[String]] {
      options.map { option in [command[0]] + option + Array(command.dropFirst()) }
    }
    var all: [[String]] = []
    for command in refused { all += lines(command, options) }
    for (command, refused) in others { all += lines(command, options.filter { refused.contains($0[0]) }) }
    // Options before the name of a command belong to netwatch itself.
    for command in ["open", "get", "log"] {
      all += options.filter { command != "open" || $0[0] != "--probe" }.map { $0 + [command] }
    }
    return all
  }()
}
