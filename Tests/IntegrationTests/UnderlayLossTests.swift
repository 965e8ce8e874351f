import Testing

/// Links that look as if they could carry a tunnel but do not, and links that the user wants to be ignored.
@Suite struct UnderlayLossTests {
  private static let openVPN = ["ip route add 0.0.0.0/1 via 10.8.0.1", "ip route add 128.0.0.0/1 via 10.8.0.1"]
  private static let wgQuick = [
    "ip route add default dev tun0 table 51820", "ip rule add not fwmark 51820 table 51820",
    "ip rule add table main suppress_prefixlength 0",
  ]
  static let layouts = [openVPN, wgQuick]

  /// Commands that create a bridge with the link of a container as its port.
  private static let containers = [
    "ip link add docker0 type bridge", "ip addr add 172.17.0.1/16 dev docker0", "ip link set docker0 up",
    "ip link add veth1 type veth peer name c1", "ip link set veth1 master docker0", "ip link set veth1 up",
    "ip link set c1 up",
  ]

  @Test(arguments: layouts)
  func `an adapter that is unplugged beneath a VPN is a loss, also for who comes afterwards`(layout: [String]) throws {
    let namespace = try NetworkNamespace.online()
    let tunnel = try namespace.addTunnel("tun0")
    for command in layout { try namespace.run(command) }
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link del v0")
    #expect(try follow.summary() == "not-reachable link_down -")
    let status = try ChildProcess.run(namespace.command([Programs.netwatch, "--json", "--check"]))
    #expect(try Line(#require(status.output.first)).summary == "not-reachable vpn_without_underlay -")
    #expect(status.ending == .exited(1))
    withExtendedLifetime(tunnel) {}
  }

  @Test(arguments: layouts)
  func `running containers do not make up for a pulled cable`(layout: [String]) throws {
    let namespace = try NetworkNamespace.online()
    let tunnel = try namespace.addTunnel("tun0")
    for command in layout + Self.containers { try namespace.run(command) }
    try namespace.waitUntilRunning("docker0")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    // The network manager removes the address, so no default route is left beside the tunnel.
    try namespace.run("ip addr flush dev v0")
    #expect(try follow.isQuiet(in: namespace))
    withExtendedLifetime(tunnel) {}
  }

  @Test func `a second default route over containers does not make up for a pulled cable`() throws {
    let namespace = try NetworkNamespace.online()
    let tunnel = try namespace.addTunnel("tun0")
    for command in Self.openVPN + Self.containers { try namespace.run(command) }
    try namespace.waitUntilRunning("docker0")
    try namespace.run("ip route add default via 172.17.0.2 metric 500")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    withExtendedLifetime(tunnel) {}
  }

  @Test(arguments: ["veth", "tap"])
  func `a router in a virtual machine carries a VPN`(port: String) throws {
    let namespace = try NetworkNamespace()
    var programs: [ChildProcess] = []
    try namespace.run(
      "ip link add br0 type bridge", "ip addr add 10.0.0.1/24 dev br0", "ip link set br0 up")
    if port == "tap" {
      programs.append(try namespace.addTunnel("tap0", 9))
      try namespace.run("ip addr flush dev tap0", "ip link set tap0 master br0")
    } else {
      try namespace.run(
        "ip link add veth1 type veth peer name c1", "ip link set veth1 master br0", "ip link set veth1 up",
        "ip link set c1 up")
    }
    try namespace.waitUntilRunning("br0")
    try namespace.run("ip route add default via 10.0.0.2")
    programs.append(try namespace.addTunnel("tun0"))
    for command in Self.openVPN { try namespace.run(command) }
    let line = try namespace.follow().next()
    #expect(line.summary == "wifi initial br0")
    #expect(line.tunnel == "tun0 known")
    withExtendedLifetime(programs) {}
  }

  // MARK: Sinks

  @Test func `a kill switch is no way out`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run("ip addr add 10.0.0.1/24 dev v0", "ip route add default via 10.0.0.2 metric 100")
    try namespace.waitUntilRunning("v0")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run(
      "ip link add ifb0 type ifb", "ip link set ifb0 up", "ip addr add 10.9.0.1/24 dev ifb0",
      "ip route add default dev ifb0 metric 98")
    #expect(try follow.summary() == "not-reachable route_unreachable -")
    // The VPN comes up with a better metric than the kill switch.
    let tunnel = try namespace.addTunnel("tun0")
    try namespace.run("ip route add default dev tun0 metric 50")
    let line = try follow.next()
    #expect(line.summary == "wifi route_up v0")
    #expect(line.tunnel == "tun0 known")
    #expect(try follow.isQuiet(in: namespace))
    withExtendedLifetime(tunnel) {}
  }

  @Test func `a mark that leads into a kill switch is no evidence`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run(
      "ip addr add 10.0.0.1/24 dev v0", "ip route add default via 10.0.0.2 metric 100",
      "ip link add ifb0 type ifb", "ip link set ifb0 up", "ip addr add 10.9.0.1/24 dev ifb0",
      "ip route add default dev ifb0 metric 98")
    try namespace.waitUntilRunning("v0")
    let tunnel = try namespace.addTunnel("tun0")
    for command in Self.wgQuick { try namespace.run(command) }
    let line = try namespace.follow().next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.tunnel == "tun0 known")
    withExtendedLifetime(tunnel) {}
  }

  @Test func `IPv6 into a kill switch, IPv4 not`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.run(
      "ip link add ifb0 type ifb", "ip link set ifb0 up", "ip addr add fd09::1/64 dev ifb0 nodad",
      "ip -6 route add default dev ifb0")
    let line = try namespace.follow().next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.ipv4 != nil)
    #expect(line.ipv6 == nil)
  }

  // MARK: Links that are ignored

  @Test(arguments: layouts)
  func `an ignored link carries no tunnel`(layout: [String]) throws {
    let namespace = try NetworkNamespace.online()
    let tunnel = try namespace.addTunnel("tun0")
    for command in layout { try namespace.run(command) }
    #expect(try namespace.follow().summary() == "wifi initial v0")
    let follow = try namespace.follow("--ignore", "v0")
    #expect(try follow.summary() == "not-reachable vpn_without_underlay -")
    // Another link replaces v0, as it would if v0 were gone.
    try namespace.addSecondUplink()
    #expect(try follow.summary() == "wifi route_up w0")
    // A list of links that routes may use does not limit the links beneath a tunnel.
    let line = try namespace.follow("-i", "tun*").next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.tunnel == "tun0 known")
    let straight = try namespace.follow("-i", "w0").next()
    #expect(straight.summary == "wifi initial w0")
    #expect(straight.vpn == nil)
    withExtendedLifetime(tunnel) {}
  }

  @Test func `an ignored link carries no bridge and no macvlan`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run(
      "ip link add br0 type bridge", "ip link set v0 master br0", "ip link set br0 up",
      "ip addr add 10.0.0.1/24 dev br0", "ip route add default via 10.0.0.2")
    try namespace.waitUntilRunning("br0")
    #expect(try namespace.follow().summary() == "wifi initial br0")
    #expect(try namespace.follow("--ignore", "v0").summary() == "not-reachable no_carrier -")
    try namespace.run(
      "ip addr flush dev br0", "ip link add link br0 name mv0 type macvlan", "ip link set mv0 up",
      "ip addr add 10.0.0.1/24 dev mv0", "ip route add default via 10.0.0.2")
    try namespace.waitUntilRunning("mv0")
    #expect(try namespace.follow().summary() == "wifi initial mv0")
    for ignored in ["v0", "br0"] {
      #expect(try namespace.follow("--ignore", ignored).summary() == "not-reachable no_carrier -", "\(ignored)")
    }
  }
}
