import Glibc
import NetwatchTestSupport
import Testing

/// Tests of what netwatch says about links that do not work.
@Suite struct FaultWordsTests {
  private static func status(_ namespace: NetworkNamespace) throws -> String {
    try ChildProcess.run(
      namespace.command([Programs.netwatch, "status", "--no-service", "--format", "text"]),
      environment: ["LC_ALL=C.UTF-8"]
    ).output.joined(separator: "\n")
  }

  @Test func `a pulled cable whose address is gone has no carrier`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    // dhcpcd and NetworkManager remove the address and the routes when the carrier is lost.
    try namespace.run("ip addr flush dev v0", "ip route flush dev v0")
    #expect(try follow.isQuiet(in: namespace))
    let line = try Line(
      #require(ChildProcess.run(namespace.command([Programs.netwatch, "--json", "--no-service"])).output.first))
    #expect(line.summary == "not-reachable no_carrier -")
    #expect(try Self.status(namespace).contains("v0 has no carrier"))
    try namespace.run("ip link set v0 down", "ip link set v1 down")
    let off = try Line(
      #require(ChildProcess.run(namespace.command([Programs.netwatch, "--json", "--no-service"])).output.first))
    #expect(off.summary == "not-reachable link_down -")
  }

  @Test func `a new link beside a dead one is listed, and nothing carries the traffic`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try ChildProcess(
      namespace.command([
        Programs.netwatch, "--follow", "--no-service", "--format", "text", "--interfaces", "-v",
      ]))
    func lines(until text: String) throws -> [String] {
      var lines: [String] = []
      while lines.last?.contains(text) != true { lines.append(try #require(try follow.nextLine())) }
      return lines
    }
    _ = try lines(until: "v0")
    try namespace.run("ip link set v1 down")
    _ = try lines(until: "its other end is missing")
    try namespace.configure("link add docker0 type bridge", "link set docker0 up")
    let listed = try lines(until: "docker0")
    #expect(!listed.contains { $0.contains("carries the traffic") }, "\(listed)")
  }

  @Test func `a bridge without ports has an address and no port`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.configure("link add docker0 type bridge", "link set docker0 up", "addr add 172.17.0.1/16 dev docker0")
    let status = try Self.status(namespace)
    let row = status.split(separator: "\n").first { $0.contains("docker0") }
    #expect(row?.contains("no port runs  172.17.0.1/16") == true, "\(status)")
  }

  @Test func `a link that stands on a dead one says so`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.configure("link add link v0 name mv0 type macvlan", "link set mv0 up", "addr add 10.0.0.1/24 dev mv0")
    try namespace.waitUntilRunning("mv0")
    try namespace.run("ip route add default via 10.0.0.2", "ip link set v1 down")
    try namespace.waitUntilLowerLinkIsDown("mv0")
    let explanation = try ChildProcess.run(namespace.command([Programs.netwatch, "explain"])).output.joined(
      separator: "\n")
    #expect(
      explanation.contains("mv0: switched on, no carrier; the interface that it stands on does not run"),
      "\(explanation)")
  }

  @Test func `a tunnel that nothing carries is named once`() throws {
    let namespace = try NetworkNamespace()
    let tunnel = try namespace.addTunnel("tun0")
    try namespace.run("ip route add default dev tun0")
    let status = try Self.status(namespace)
    #expect(status.components(separatedBy: "nothing carries it").count == 2, "\(status)")
    #expect(status.contains("the VPN tun0"), "\(status)")
    withExtendedLifetime(tunnel) {}
  }

  @Test func `a list of links is told again only if it shows something else`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow("--interfaces", "--no-service")
    let first = try follow.next()
    try namespace.run("ip link add br0 type bridge")
    // The kernel may still be checking the addresses of the first links, which makes further lines.
    while try follow.next().interfaces?.count != (first.interfaces?.count ?? 0) + 1 {}
    let tunnel = try ChildProcess(namespace.command([Programs.probe, "tunnel", "tap0"]))
    #expect(try tunnel.nextLine() == "open")
    for _ in 0..<5 { try namespace.run("ip link set tap0 up", "ip link set tap0 down") }
    tunnel.signal(SIGKILL)
    try namespace.run("ip link del br0")
    var lists: [[String]] = []
    repeat {
      let line = try follow.next()
      lists.append((line.interfaces ?? []).map { "\($0)" })
    } while lists.last?.contains { $0.contains("br0") } == true
    for (one, next) in zip(lists, lists.dropFirst()) { #expect(one != next) }
  }

  @Test func `a machine behind a router that translates link-local addresses is reachable if the user says so`() throws
  {
    let namespace = try NetworkNamespace.withPair()
    try namespace.waitUntilRunning("v0")
    try namespace.run("ip addr add 169.254.7.7/16 dev v0", "ip route add default via 169.254.7.1 dev v0")
    func summary(_ options: String...) throws -> String {
      let command = namespace.command([Programs.netwatch, "--json", "--no-service"] + options)
      return try Line(#require(ChildProcess.run(command).output.first)).summary
    }
    #expect(try summary() == "not-reachable no_address -")
    #expect(try summary("--link-local") == "wifi initial v0")
  }
}
