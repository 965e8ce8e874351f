import NetwatchTestSupport
import Testing

/// A tunnel beneath a bridge, and tunnels that take the traffic of one family only.
@Suite struct StackedTunnelTests {
  private static func status(_ namespace: NetworkNamespace, _ options: String...) throws -> (
    ending: ChildProcess.Ending, output: [String], error: String
  ) {
    try ChildProcess.run(namespace.command([Programs.netwatch, "--no-service"] + options))
  }

  @Test func `a bridge whose only port is a tunnel is lost with what carries the tunnel`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.configure(
      "link add vx0 type vxlan id 1 remote 10.0.0.2 dstport 4789", "link add br0 type bridge",
      "link set vx0 master br0",
      "link set vx0 up", "link set br0 up", "addr add 10.5.0.1/24 dev br0", "route replace default via 10.5.0.2 dev br0"
    )
    try namespace.waitUntilRunning("br0")
    let follow = try namespace.follow()
    let line = try follow.next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.tunnel == "vx0 known")
    #expect(line.vpn?["families"] as? [String] == ["ipv4"])
    #expect(line.ipv4?["interface"] as? String == "br0")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    #expect(try Self.status(namespace, "--check").ending == .exited(1))
    try namespace.run("ip link set v1 up")
    #expect(try follow.summary() == "wifi route_up v0")
    // A real network card as another port would mean that the bridge is no tunnel.
    try namespace.configure(
      "link add w0 type veth peer name w1", "link set w1 up", "link set w0 up", "link set w0 master br0")
    // A veth as another port leads to a container, so the bridge is still a tunnel.
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `a bridge on a tunnel carries another tunnel only as long as its own is carried`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.configure(
      "link add vx0 type vxlan id 1 remote 10.0.0.2 dstport 4789", "link add br0 type bridge",
      "link set vx0 master br0", "link set vx0 up", "link set br0 up", "addr add 10.5.0.1/24 dev br0",
      "route replace default via 10.5.0.2 dev br0")
    try namespace.waitUntilRunning("br0")
    let tunnel = try namespace.addTunnel("tun0")
    try namespace.run("ip route add 0.0.0.0/1 via 10.8.0.1", "ip route add 128.0.0.0/1 via 10.8.0.1")
    let follow = try namespace.follow()
    let line = try follow.next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.tunnel == "tun0 known")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    withExtendedLifetime(tunnel) {}
  }

  @Test func `a tunnel for IPv6 alone is a VPN`() throws {
    let namespace = try NetworkNamespace.online()
    let tunnel = try namespace.addTunnel("tun0")
    let follow = try namespace.follow()
    #expect(try follow.next().vpn == nil)
    try namespace.run("ip addr add fd00:8::2/64 dev tun0 nodad", "ip -6 route add 2000::/3 dev tun0")
    var line = try follow.next()
    while line.ipv6 == nil { line = try follow.next() }
    #expect(line.reason == "vpn_up")
    #expect(line.tunnel == "tun0 known")
    #expect(line.vpn?["families"] as? [String] == ["ipv6"])
    #expect(line.interface == "v0")
    #expect(line.ipv4?["interface"] as? String == "v0")
    #expect(line.ipv6?["interface"] as? String == "tun0")
    let status = try Self.status(namespace, "--format", "text")
    #expect(status.output.contains { $0.contains("only IPv6 goes through the VPN tun0") }, "\(status.output)")
    #expect(try Self.status(namespace, "--check", "--for", "not-vpn").ending == .exited(1))
    // Now the tunnel takes IPv4 as well.
    try namespace.run("ip route add 0.0.0.0/1 via 10.8.0.1", "ip route add 128.0.0.0/1 via 10.8.0.1")
    line = try follow.next()
    #expect(line.reason == "vpn_up")
    #expect(line.vpn?["families"] as? [String] == ["ipv4", "ipv6"])
    try namespace.run("ip -6 route flush dev tun0")
    while line.ipv6 != nil { line = try follow.next() }
    #expect(line.vpn?["families"] as? [String] == ["ipv4"])
    withExtendedLifetime(tunnel) {}
  }

  @Test func `the families may leave over different links`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.configure(
      "link add w0 type veth peer name w1", "link set w1 up", "link set w0 up", "addr add 2a02:1::1/64 dev w0 nodad")
    try namespace.waitUntilRunning("w0")
    try namespace.run("ip -6 route add default via 2a02:1::2 dev w0")
    let follow = try namespace.follow("--wwan", "w0")
    let line = try follow.next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.ipv4?["interface"] as? String == "v0")
    #expect(line.ipv6?["interface"] as? String == "w0")
    // The traffic of one family goes over the modem.
    #expect(line.isExpensive == true)
  }
}
