import CLinux
import Foundation
import Glibc
import NetwatchTestSupport
import Testing

/// The output of netwatch on a terminal.
@Suite struct TerminalTests {
  /// Runs a command on a terminal that script(1) makes, and returns the lines that the terminal shows.
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
    let command = "\(Programs.netwatch) -f --count 1 --color never"
    let line = try #require(try onTerminal(namespace(), columns: columns, command).first)
    #expect(line.count <= columns, "\(line)")
    #expect(line.contains("2001:db8:"))
    #expect(try /\d\d:\d\d:\d\d ● virtual +enp0.*/.wholeMatch(in: line) != nil)
  }

  @Test(arguments: [12, 24, 40, 60, 80, 132])
  func `nothing is wider than the terminal`(columns: Int) throws {
    let namespace = try namespace()
    try namespace.run(
      "ip link add 網路網路 type veth peer name w1", "ip link set 網路網路 up", "ip link add br0 type bridge",
      "ip link set w1 master br0")
    for command in ["status -v", "status --interfaces", "explain", "-f -v --count 1 --no-service"] {
      let lines = try onTerminal(namespace, columns: columns, "\(Programs.netwatch) \(command) --color never")
      for line in lines {
        let wide = line.unicodeScalars.filter { 0x3000...0x9fff ~= $0.value }.count
        #expect(line.count + wide <= columns, "\(line)")
      }
      // A long address may be broken at any place, but it is complete when the lines are joined.
      let text = lines.joined().replacing(" ", with: "")
      #expect(text.contains("2001:db8:1234:5678:9abc:def0:1234:5678") || columns >= 62 && command.hasPrefix("-f"))
    }
  }

  @Test func `a terminal that changes its width`() throws {
    let namespace = try NetworkNamespace.online()
    let folder = try TemporaryFolder()
    try namespace.run("mkfifo \(folder.file("go")) \(folder.file("done"))")
    let resize = "(read x <\(folder.file("go")); stty cols 30 <&1; echo >\(folder.file("done"))) &"
    let child = try ChildProcess(
      namespace.command([
        "script", "-qec", "stty cols 80; \(resize) exec \(Programs.netwatch) -f --no-service --color never",
        "/dev/null",
      ]), environment: ["LC_ALL=C.UTF-8", "TERM=xterm"])
    #expect(try child.nextLine()?.contains("● virtual                 v0         10.0.0.1") == true)
    try namespace.run("echo >\(folder.file("go"))", "read x <\(folder.file("done"))", "ip link set v1 down")
    #expect(try child.nextLine()?.hasSuffix("○ not reachable\r") == true)
    #expect(try child.nextLine() == "           no carrier\r")
  }

  @Test func `status lists the links and what state they are in`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.run(
      "ip link add w0 type veth peer name w1", "ip link set w0 up", "ip link add br0 type bridge",
      "ip link add x0 type veth peer name x1", "ip link set x0 master br0", "ip link set x0 up", "ip link set x1 up",
      "ip link add ifb0 type ifb", "ip link add ifb1 type ifb", "ip link set ifb1 up")
    try namespace.waitUntilRunning("x0")
    let status = try ChildProcess.run(
      namespace.command([Programs.netwatch, "status", "-v", "--format", "text"]), environment: ["LC_ALL=C.UTF-8"])
    #expect(status.ending == .exited(0))
    #expect(status.output[0] == "● virtual  v0  10.0.0.1")
    #expect(status.output[1] == "  Online over v0, a virtual interface.")
    #expect(status.output[2] == "")
    #expect(status.output[3].contains(#/^  ● v0   virtual  in use        10\.0\.0\.1\/24$/#))
    func row(_ name: String) throws -> Int { try #require(status.output.firstIndex { $0.contains("○ \(name) ") }) }
    #expect(try status.output[row("w0")].hasSuffix("virtual  no carrier"))
    #expect(try status.output[row("w0") + 1] == "      its other end is missing")
    #expect(try status.output[row("w1")].hasSuffix("virtual  switched off"))
    #expect(try status.output[row("x0")].hasSuffix("virtual  port of br0"))
    // Loopback leads nowhere, and no person has asked for links that a module of the kernel creates.
    let hidden = ["lo", "ifb0", "ifb1"]
    for name in hidden { #expect(!status.output.contains { $0.contains(" \(name) ") }) }
    let all = try ChildProcess.run(namespace.command([Programs.netwatch, "--interfaces", "--format", "text"]))
    for name in hidden { #expect(all.output.contains { $0.contains(" \(name) ") }) }
    try namespace.run("ip addr add 10.5.0.1/24 dev ifb1")
    let used = try ChildProcess.run(namespace.command([Programs.netwatch]))
    #expect(used.output.contains { $0.contains(" ifb1 ") } && !used.output.contains { $0.contains(" ifb0 ") })
  }

  @Test func `a machine of many links shows those that matter`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.run(
      "for i in $(seq 20); do echo link add c$i type veth peer name d$i; done | ip -batch -")
    let status = try ChildProcess.run(namespace.command([Programs.netwatch, "status", "--format", "text"]))
    #expect(status.output.count == 16)
    #expect(status.output[3].contains("v0"))
    #expect(status.output.last == "  and 30 more; --interfaces lists them all")
  }

  @Test func `verbose says why in a sentence`() throws {
    let namespace = try NetworkNamespace.online()
    let child = try ChildProcess(namespace.command([Programs.netwatch, "-f", "-v", "--format", "text"]))
    #expect(try child.nextLine()?.hasSuffix("10.0.0.1") == true)
    try namespace.run("ip link set v1 down")
    #expect(try child.nextLine()?.hasSuffix("no carrier") == true)
    #expect(try child.nextLine() == "           v0 has no carrier; its other end is missing")
    try namespace.run("ip link set v1 up")
    #expect(try child.nextLine()?.hasSuffix("route up") == true)
    #expect(try child.nextLine() == "           a route leads out again, over v0")
    try namespace.run("ip link set v0 down")
    #expect(try child.nextLine()?.hasSuffix("link down") == true)
    #expect(try child.nextLine() == "           v0 is switched off")
  }

  @Test func `a pipe is as wide as it likes, unless COLUMNS says`() throws {
    let namespace = try namespace()
    let command = namespace.command([Programs.netwatch, "-f", "--count", "1", "--format", "text"])
    let whole = try ChildProcess.run(command, environment: ["LC_ALL=C.UTF-8"])
    #expect(whole.output.count == 1)
    #expect(whole.output[0].hasSuffix(" 2001:db8:1234:5678:9abc:def0:1234:5678"))
    let folded = try ChildProcess.run(command, environment: ["LC_ALL=C.UTF-8", "COLUMNS=40"])
    #expect(folded.output.count > 1)
    #expect(folded.output.allSatisfy { $0.count <= 40 })
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
      first.range(of: "10.0.0.1").map { $0.lowerBound.utf16Offset(in: first) + 16 }
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

  @Test func `a link's name cannot steer the terminal`() throws {
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

  @Test func `a network's name cannot steer the terminal`() throws {
    let folder = try TemporaryFolder()
    let door = try ListeningPath(folder.file("s"))
    let child = try ChildProcess(
      [Programs.netwatch, "-f", "--format", "text"],
      environment: ["NETWATCH_SOCKET=\(folder.file("s"))", "LC_ALL=C.UTF-8"])
    // The service is trusted, but the name of the network comes from strangers by radio.
    let name = "\u{1b}]0;x\u{7}a\r\n\u{9b}2J\u{202e}網"
    let hex = name.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let line = #"""
      {"v":1,"seq":1,"time":"2026-11-21T14:19:02.100562Z","mono_ns":1,"event":"initial","reason":"initial",\#
      "reachability":{"status":"wifi","medium":"wifi","interface":"wlan0","index":2,"expensive":false,"vpn":null,\#
      "ipv4":{"address":"10.0.0.1","gateway":null},"ipv6":null,"wifi":{"ssid":"","ssid_hex":"\#(hex)","signal_dbm":-60,\#
      "signal_percent":80}},"activity":{"state":"inactive","visible":false,"in_flight":0}}\#n
      """#
    let client = accept(door.descriptor, nil, nil)
    defer { close(client) }
    let bytes = Array(line.utf8)
    #expect(unsafe send(client, bytes, bytes.count, CInt(MSG_NOSIGNAL)) == bytes.count)
    let text = try #require(try child.nextLine())
    #expect(text.hasSuffix("● wifi “?]0;x?a???2J?網”  wlan0      10.0.0.1        signal 80 %"), "\(text)")
    #expect(text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control })
  }
}
