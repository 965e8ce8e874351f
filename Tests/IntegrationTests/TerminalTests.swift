import Foundation
import Testing

/// What a person sees.
@Suite struct TerminalTests {
  /// Runs a command on a terminal of its own, by script(1), and gives back what it shows.
  private func onTerminal(
    _ namespace: NetworkNamespace, columns: Int, _ command: String, environment: [String] = ["TERM=xterm", "NO_COLOR="]
  ) throws -> [String] {
    let script = "stty cols \(columns); exec \(command)"
    let result = try ChildProcess.run(
      namespace.command(["script", "-qec", script, "/dev/null"]), environment: ["LC_ALL=C.UTF-8"] + environment)
    return result.output.map { $0.hasSuffix("\r") ? String($0.dropLast()) : $0 }
  }

  private func namespace() throws -> NetworkNamespace {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run(
      "ip link set v0 down", "ip link set v0 name enp0s31f6wxyz12", "ip link set enp0s31f6wxyz12 up",
      "ip addr add 2001:db8:1234:5678:9abc:def0:1234:5678/64 dev enp0s31f6wxyz12 nodad",
      "ip route add default via fe80::1 dev enp0s31f6wxyz12")
    return namespace
  }

  @Test(arguments: [80, 100, 120])
  func `a line fits the terminal`(columns: Int) throws {
    let line = try #require(try onTerminal(namespace(), columns: columns, "\(Programs.netwatch) --color never").first)
    #expect(line.count <= columns, "\(line)")
    #expect(line.contains("● wifi"))
    #expect(line.contains("virtual"))
    #expect(line.contains("2001:db8:"))
    #expect(line.hasSuffix("initial"))
    #expect(try /\d\d:\d\d:\d\d .*/.wholeMatch(in: line) != nil)
  }

  @Test func `columns are aligned`() throws {
    let online = try NetworkNamespace.online()
    let child = try ChildProcess(
      online.command([Programs.netwatch, "--follow", "--format", "text", "--count", "3"]),
      environment: ["LC_ALL=C.UTF-8"])
    let first = try #require(try child.nextLine())
    try online.run("ip link set v1 down")
    let second = try #require(try child.nextLine())
    #expect(second.contains("○ not reachable"))
    #expect(
      first.range(of: "initial")?.lowerBound.utf16Offset(in: first)
        == second.range(of: "no carrier")?.lowerBound.utf16Offset(in: second))
  }

  @Test func `colour is for terminals, and can be declined`() throws {
    let online = try NetworkNamespace.online()
    let escape = "\u{1b}["
    #expect(try onTerminal(online, columns: 80, Programs.netwatch)[0].contains(escape))
    #expect(
      try !onTerminal(online, columns: 80, Programs.netwatch, environment: ["TERM=xterm", "NO_COLOR=1"])[0].contains(
        escape))
    #expect(
      try !onTerminal(online, columns: 80, Programs.netwatch, environment: ["TERM=dumb", "NO_COLOR="])[0].contains(
        escape))
    #expect(try !onTerminal(online, columns: 80, "\(Programs.netwatch) --color never")[0].contains(escape))
    let piped = try ChildProcess.run(online.command([Programs.netwatch, "--format", "text"]))
    #expect(!piped.output[0].contains(escape))
    let forced = try ChildProcess.run(online.command([Programs.netwatch, "--format", "text", "--color", "always"]))
    #expect(forced.output[0].contains(escape))
  }

  @Test func `plain ASCII where the locale has no more`() throws {
    let online = try NetworkNamespace.online()
    let result = try ChildProcess.run(
      online.command([Programs.netwatch, "--format", "text"]), environment: ["LC_ALL=C"])
    #expect(result.output[0].utf8.allSatisfy { $0 < 0x80 })
  }

  @Test func `a link's name can not steer the terminal`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run(
      #"name=$(printf 'a\033[31mb'); ip link add "$name" type veth peer name p9; ip link set p9 up; ip link set "$name" up; "#
        + #"ip addr add 10.7.0.1/24 dev "$name"; ip route add default via 10.7.0.2"#)
    let text = try ChildProcess.run(namespace.command([Programs.netwatch, "--format", "text", "--interfaces"]))
    #expect(text.output.allSatisfy { !$0.contains("\u{1b}") })
    #expect(text.output[0].contains("a?[31mb"))
    let json = try ChildProcess.run(namespace.command([Programs.netwatch, "--json"]))
    #expect(!json.output[0].contains("\u{1b}"))
    #expect(try Line(json.output[0]).interface == "a\u{1b}[31mb")
  }
}
