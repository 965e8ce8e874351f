import Glibc
import NetwatchTestSupport
import Testing

/// The links beneath tunnels, in the layouts that people have, each on the real kernel.
@Suite struct TunnelTests {
  /// Adds the routes and rules of wg-quick, with a tun device in place of a wireguard device.
  static func wgQuick(_ namespace: NetworkNamespace, tunnel: String = "tun0") throws {
    try namespace.run(
      "ip route add default dev \(tunnel) table 51820", "ip rule add not fwmark 51820 table 51820",
      "ip rule add table main suppress_prefixlength 0")
  }

  @Test(arguments: [true, false])
  func `wg-quick: the mark's way is followed, by any user`(isRoot: Bool) throws {
    let namespace = try NetworkNamespace.online()
    try namespace.addSecondUplink()
    let folder = try TemporaryFolder()
    let follow = try isRoot ? namespace.follow() : namespace.followAsNobody(from: folder)
    #expect(try follow.summary() == "wifi initial v0")
    let tunnel = try namespace.addTunnel("tun0")
    try Self.wgQuick(namespace)
    let line = try follow.next()
    #expect(line.summary == "wifi vpn_up v0")
    #expect(line.vpn?["interface"] as? String == "tun0")
    #expect(line.ipv4?["address"] as? String == "10.8.0.2")
    #expect(line.medium == "virtual")
    // The link beneath loses its carrier. The tunnel itself stays up.
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip link set v1 up")
    #expect(try follow.summary() == "wifi route_up v0")
    // The kernel removes the route without a notification.
    try namespace.run("ip link set v0 down")
    #expect(try follow.summary() == "wifi interface_changed w0")
    try namespace.run("ip link set v0 up")
    try namespace.waitUntilRunning("v0")
    try namespace.run("ip route add default via 10.0.0.2")
    #expect(try follow.summary() == "wifi interface_changed v0")
    try namespace.run("ip addr del 10.0.0.1/24 dev v0")
    #expect(try follow.summary() == "wifi interface_changed w0")
    try namespace.run("ip route del default via 10.1.0.2 metric 600")
    #expect(try follow.summary() == "not-reachable vpn_without_underlay -")
    try namespace.run("ip route add default via 10.1.0.2 metric 600")
    #expect(try follow.summary() == "wifi route_up w0")
    try namespace.run("ip rule del not fwmark 51820 table 51820")
    #expect(try follow.summary() == "wifi vpn_down w0")
    #expect(try follow.isQuiet(in: namespace))
    withExtendedLifetime(tunnel) {}
  }

  @Test func `IPv6 inside, IPv4 outside, for a target of IPv6`() throws {
    let namespace = try NetworkNamespace.online()
    let tunnel = try namespace.addTunnel("tun0")
    try namespace.run(
      "ip addr add fd00:8::2/64 dev tun0 nodad", "ip -6 route add default dev tun0 table 51820",
      "ip -6 rule add not fwmark 51820 table 51820")
    let follow = try namespace.follow("--target", "2001:db8:77::1")
    let line = try follow.next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.ipv4 == nil)
    #expect(line.ipv6?["address"] as? String == "fd00:8::2")
    #expect(line.vpn?["interface"] as? String == "tun0")
    // The kernel announces the change before it makes it, and the change is in another family than that of the target.
    for _ in 0..<5 {
      try namespace.run("ip route del default")
      #expect(try follow.summary() == "not-reachable vpn_without_underlay -")
      try namespace.run("ip route add default via 10.0.0.2")
      #expect(try follow.summary() == "wifi route_up v0")
    }
    try namespace.run("ip addr del 10.0.0.1/24 dev v0")
    #expect(try follow.summary() == "not-reachable no_address -")
    withExtendedLifetime(tunnel) {}
  }

  @Test func `tailscale: a mark's rule before the table of the tunnel`() throws {
    let namespace = try NetworkNamespace.online()
    let tunnel = try namespace.addTunnel("tailscale0")
    try namespace.run(
      "ip route add default dev tailscale0 table 52", "ip rule add prio 5210 fwmark 0x80000/0xff0000 lookup main",
      "ip rule add prio 5250 fwmark 0x80000/0xff0000 unreachable")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip rule add prio 5270 lookup 52")
    let line = try follow.next()
    #expect(line.summary == "wifi vpn_up v0")
    #expect(line.vpn?["interface"] as? String == "tailscale0")
    try namespace.run("ip route del default via 10.0.0.2")
    // A rule that says "unreachable", unlike such a route, gives the error of a missing route (ENETUNREACH).
    #expect(try follow.summary() == "not-reachable vpn_without_underlay -")
    withExtendedLifetime(tunnel) {}
  }

  @Test func `OpenVPN takes over with two halves of the default, and gives back`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    let tunnel = try namespace.addTunnel("tun0")
    try namespace.run("ip route add 0.0.0.0/1 via 10.8.0.1", "ip route add 128.0.0.0/1 via 10.8.0.1")
    let line = try follow.next()
    // The line names the tunnel under `vpn`, and as its interface the link beneath, which carries the traffic.
    #expect(line.summary == "wifi vpn_up v0")
    #expect(line.vpn?["interface"] as? String == "tun0")
    #expect(line.vpn?["kind"] as? String == "tun")
    try namespace.run("ip route del 128.0.0.0/1")
    #expect(try follow.summary() == "wifi vpn_down v0")
    try namespace.run("ip route add 128.0.0.0/1 via 10.8.0.1")
    #expect(try follow.summary() == "wifi vpn_up v0")
    // The route over another uplink now has the better metric.
    try namespace.addSecondUplink()
    try namespace.run("ip route del default via 10.0.0.2", "ip route add default via 10.0.0.2 metric 700")
    #expect(try follow.summary() == "wifi interface_changed w0")
    // The kernel does not choose another route because a link is dead.
    try namespace.run("ip link set w1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip route del default via 10.1.0.2 metric 600")
    #expect(try follow.summary() == "wifi route_up v0")
    try namespace.run("ip route add default via 10.1.0.2 metric 600")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip link set w1 up")
    #expect(try follow.summary() == "wifi route_up w0")
    try namespace.run("ip link set w1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    tunnel.closeInput()
    #expect(try tunnel.wait() == .exited(0))
    try namespace.run("ip link set w1 up")
    #expect(try follow.summary() == "wifi route_up w0")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `a dead uplink under a live tunnel`() throws {
    let namespace = try NetworkNamespace.online()
    let tunnel = try namespace.addTunnel("tun0")
    try namespace.run("ip route add 0.0.0.0/1 via 10.8.0.1", "ip route add 128.0.0.0/1 via 10.8.0.1")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    // A follower that starts only now reports the same.
    let second = try namespace.follow()
    #expect(try second.summary() == "not-reachable no_carrier -")
    try namespace.run("ip link set v1 up")
    #expect(try follow.summary() == "wifi route_up v0")
    #expect(try second.summary() == "wifi route_up v0")
    tunnel.signal(SIGKILL)
    #expect(try follow.summary() == "wifi vpn_down v0")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `a user whose traffic may go nowhere but into the tunnel`() throws {
    // Only root can become another user.
    guard geteuid() == 0 else { return }
    let namespace = try NetworkNamespace.online()
    let tunnel = try namespace.addTunnel("tun0")
    try namespace.run(
      "ip route add default dev tun0 table 100", "ip route add unreachable default metric 4278198272 table 100",
      "ip rule add uidrange 65534-65534 table 100")
    let folder = try TemporaryFolder()
    let follow = try namespace.followAsNobody(from: folder)
    let line = try follow.next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.vpn?["interface"] as? String == "tun0")
    tunnel.closeInput()
    #expect(try follow.summary() == "not-reachable link_down -")
  }

  // MARK: Tunnels in tunnels

  @Test func `a tunnel in a tunnel, by marks`() throws {
    let namespace = try NetworkNamespace.online()
    let tunnels = [try namespace.addTunnel("tun0", 0), try namespace.addTunnel("tun1", 1)]
    try namespace.run(
      "ip route add default dev tun0 table 101", "ip route add default dev tun1 table 102",
      "ip rule add prio 100 fwmark 1 lookup main", "ip rule add prio 200 not fwmark 2 table 102",
      "ip rule add prio 300 not fwmark 1 table 101")
    let follow = try namespace.follow()
    let line = try follow.next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.vpn?["interface"] as? String == "tun1")
    // tun0 is gone. By the rules, the packets of tun1 then leave over v0.
    tunnels[0].closeInput()
    #expect(try tunnels[0].wait() == .exited(0))
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip link set v1 up")
    #expect(try follow.summary() == "wifi route_up v0")
  }

  @Test func `marks that lead to each other end in nothing`() throws {
    let namespace = try NetworkNamespace.online()
    let tunnels = [try namespace.addTunnel("tun0", 0), try namespace.addTunnel("tun1", 1)]
    try namespace.run(
      "ip route add default dev tun0 table 101", "ip route add default dev tun1 table 102",
      "ip rule add prio 200 not fwmark 2 table 102", "ip rule add prio 300 not fwmark 1 table 101")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "not-reachable vpn_without_underlay -")
    try namespace.run("ip rule add prio 100 fwmark 1 lookup main")
    #expect(try follow.summary() == "wifi route_up v0")
    withExtendedLifetime(tunnels) {}
  }
}
