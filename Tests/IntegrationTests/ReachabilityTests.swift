import Glibc
import NetwatchTestSupport
import Testing

/// What the kernel does with links, addresses and routes, in the layouts that people have, each on the real kernel.
@Suite struct ReachabilityTests {
  @Test func `a link is switched off`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link set v0 down")
    #expect(try follow.summary() == "not-reachable link_down -")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `the address of the default route is deleted`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip addr del 10.0.0.1/24 dev v0")
    #expect(try follow.summary() == "not-reachable no_address -")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `the cable is pulled, and comes back`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip link set v1 up")
    let line = try follow.next()
    #expect(line.summary == "wifi route_up v0")
    #expect(line.ipv4?["address"] as? String == "10.0.0.1")
    #expect(line.ipv4?["gateway"] as? String == "10.0.0.2")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `a link goes dormant, and wakes`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link set v0 state dormant")
    #expect(try follow.summary() == "not-reachable dormant -")
    try namespace.run("ip link set v0 state up")
    #expect(try follow.summary() == "wifi route_up v0")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `a link is deleted`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link del v0")
    #expect(try follow.summary() == "not-reachable link_down -")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test(arguments: [
    ("unreachable", "route_unreachable"), ("prohibit", "route_unreachable"), ("blackhole", "route_unreachable"),
    ("throw", "no_route"),
  ])
  func `a default route that leads nowhere`(type: String, reason: String) throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run("ip addr add 10.0.0.1/24 dev v0", "ip route add default via 10.0.0.2 metric 50")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip route add \(type) default metric 10")
    #expect(try follow.summary() == "not-reachable \(reason) -")
    try namespace.run("ip route del \(type) default metric 10")
    #expect(try follow.summary() == "wifi route_up v0")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `an empty bridge is no link, until it has a running port`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run(
      "ip link add br0 type bridge", "ip link set br0 up", "ip addr add 10.0.0.1/24 dev br0",
      "ip route add default via 10.0.0.2")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip link set v0 master br0")
    #expect(try follow.summary() == "wifi route_up br0")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test(arguments: ["4096", "65536"])
  func `messages are lost, the status is not`(buffer: String) throws {
    let namespace = try NetworkNamespace.online()
    let probe = try ChildProcess(namespace.command([Programs.probe, "overrun", buffer]))
    #expect(try probe.nextLine() == "wifi")
    // The probe is stopped while the kernel sends messages, so that nothing reads them.
    probe.signal(SIGSTOP)
    try namespace.run(
      "for i in $(seq 1000); do echo addr add 10.9.$((i / 250)).$((i % 250 + 1))/32 dev v0; "
        + "echo addr del 10.9.$((i / 250)).$((i % 250 + 1))/32 dev v0; done | ip -batch -",
      "ip addr del 10.0.0.1/24 dev v0")
    probe.signal(SIGCONT)
    #expect(try probe.nextLine() == "not-reachable")
    probe.closeInput()
    let counted = try #require(try probe.nextLine())
    #expect(counted != "overruns 0")
    #expect(try probe.wait() == .exited(0))
  }

  @Test func `IPv6 alone`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run("ip addr add fd00::1/64 dev v0 nodad", "ip route add default via fd00::2 dev v0")
    let follow = try namespace.follow()
    let line = try follow.next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.ipv4 == nil)
    #expect(line.ipv6?["address"] as? String == "fd00::1")
    #expect(line.ipv6?["gateway"] as? String == "fd00::2")
    try namespace.run("ip -6 route del default")
    #expect(try follow.summary() == "not-reachable no_route -")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `IPv4 alone`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run("echo 1 > /proc/sys/net/ipv6/conf/v0/disable_ipv6", "ip addr add 10.0.0.1/24 dev v0")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "not-reachable no_route -")
    try namespace.run("ip route add default via 10.0.0.2")
    let line = try follow.next()
    #expect(line.summary == "wifi route_up v0")
    #expect(line.ipv6 == nil)
    try namespace.run("ip route del default")
    #expect(try follow.summary() == "not-reachable no_route -")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `the better of two defaults is told, and the other one when it goes`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run(
      "ip link add w0 type veth peer name w1", "ip link set w1 up", "ip link set w0 up",
      "ip addr add 10.0.0.1/24 dev v0", "ip addr add 10.1.0.1/24 dev w0",
      "ip route add default via 10.0.0.2 metric 100", "ip route add default via 10.1.0.2 metric 600")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip route del default via 10.0.0.2")
    #expect(try follow.summary() == "wifi interface_changed w0")
    try namespace.run("ip route add default via 10.0.0.2 metric 100")
    #expect(try follow.summary() == "wifi interface_changed v0")
    // The kernel keeps using a route over a dead link, so the other route does not help.
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip link set v1 up")
    #expect(try follow.summary() == "wifi route_up v0")
    // When a link is switched off, the kernel removes its routes without a notification, and uses the other route.
    try namespace.run("ip link set v0 down")
    #expect(try follow.summary() == "wifi interface_changed w0")
    #expect(try follow.isQuiet(in: namespace))
  }

  // Linux 5.10 accepts this setting for all links together, but does not obey it.
  @Test(arguments: NetworkNamespace.isLinux(5, 11) ? ["v0", "all"] : ["v0"])
  func `a sysctl makes the kernel pass over a dead link`(scope: String) throws {
    let namespace = try NetworkNamespace.online()
    try namespace.addSecondUplink()
    let setting = "/proc/sys/net/ipv4/conf/\(scope)/ignore_routes_with_linkdown"
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("echo 1 > \(setting)")
    #expect(try follow.summary() == "wifi route_up w0")
    try namespace.run("echo 0 > \(setting)")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip link set v1 up")
    #expect(try follow.summary() == "wifi route_up v0")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test(arguments: [0, 1])
  func `a dead link is to blame, whether the kernel passes over it or not`(setting: Int) throws {
    let namespace = try NetworkNamespace.withPair()
    // The far end is in another namespace, as that of a cable is in another machine. A link of this namespace that goes
    // down would be a reason to look at the routes, and the kernel may pass over the route before it reports the loss
    // of the carrier.
    let far = try NetworkNamespace(beside: namespace)
    try namespace.run(
      "ip link set v1 netns \(far.pid)", "ip addr add 10.0.0.1/24 dev v0", "ip route add default via 10.0.0.2",
      "echo \(setting) > /proc/sys/net/ipv4/conf/all/ignore_routes_with_linkdown")
    try far.run("ip link set v1 up")
    try namespace.waitUntilRunning("v0")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try far.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try far.run("ip link set v1 up")
    #expect(try follow.summary() == "wifi route_up v0")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `an unreachable default with a high metric counts when nothing better is left`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.run("ip route add unreachable default metric 4278198272")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip route del default via 10.0.0.2")
    #expect(try follow.summary() == "not-reachable route_unreachable -")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `a multipath route is as good as its best hop`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run(
      "ip link add w0 type veth peer name w1", "ip link set w1 up", "ip link set w0 up",
      "ip addr add 10.0.0.1/24 dev v0", "ip addr add 10.1.0.1/24 dev w0",
      "ip route add default nexthop via 10.0.0.2 nexthop via 10.1.0.2")
    let follow = try namespace.follow()
    let first = try follow.next()
    #expect(first.status == "wifi")
    let (used, other) = first.interface == "v0" ? ("v1", "w0") : ("w1", "v0")
    try namespace.run("ip link set \(used) down")
    #expect(try follow.summary() == "wifi interface_changed \(other)")
    try namespace.run("ip link set \(used) up")
    #expect(try follow.summary() == "wifi interface_changed \(first.interface ?? "")")
    // If both links are dead, the reason is that of the link that the kernel has chosen.
    try namespace.run("ip link set w1 down", "ip link set v1 down")
    #expect(try follow.next().status != nil)
    while follow.lines.last?.status != "not-reachable" { _ = try follow.next() }
    #expect(follow.lines.last?.reason == "no_carrier")
  }

  @Test func `a tentative address is none, until it is not`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run("ip route add default via fe80::1 dev v0")
    let follow = try namespace.follow()
    #expect(try follow.next().status == "not-reachable")
    try namespace.run("ip addr add fd00::1/64 dev v0")
    #expect(try follow.summary() == "wifi route_up v0")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `an address that somebody else has is none`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run(
      "\(NetworkNamespace.makeAnother); ip link set v1 netns $pid",
      "nsenter --target $pid --net sh -c 'ip link set v1 up; ip addr add fd00::1/64 dev v1 nodad'",
      "ip addr add fd00::1/64 dev v0", "ip route add default via fe80::1 dev v0")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "not-reachable no_address -")
    try namespace.run("until ip -6 addr show dev v0 | grep -q dadfailed; do sleep 0.02; done", "kill $pid")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `an address of 169.254 alone is none`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run("ip addr add 169.254.7.7/16 dev v0", "ip route add default dev v0")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "not-reachable no_address -")
    try namespace.run("ip addr add 10.0.0.1/24 dev v0", "ip route replace default via 10.0.0.2 dev v0")
    #expect(try follow.summary() == "wifi route_up v0")
  }

  @Test func `a default route in another table, by rule`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run("ip addr add 10.0.0.1/24 dev v0", "ip route add default via 10.0.0.2 table 77")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "not-reachable no_route -")
    try namespace.run("ip rule add from all lookup 77")
    #expect(try follow.summary() == "wifi route_up v0")
    try namespace.run("ip rule del from all lookup 77")
    #expect(try follow.summary() == "not-reachable no_route -")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `a rule that refuses this user`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip rule add uidrange 0-0 prohibit")
    #expect(try follow.summary() == "not-reachable route_unreachable -")
  }

  @Test func `rules for one user are not for the other`() throws {
    // Only root can become another user.
    guard geteuid() == 0 else { return }
    let namespace = try NetworkNamespace.online()
    try namespace.addSecondUplink()
    try namespace.run("ip route add default via 10.1.0.2 table 100")
    let (folder, root) = (try TemporaryFolder(), try namespace.follow())
    let user = try namespace.followAsNobody(from: folder)
    #expect(try root.summary() == "wifi initial v0")
    #expect(try user.summary() == "wifi initial v0")
    try namespace.run("ip rule add uidrange 65534-65534 prohibit")
    #expect(try user.summary() == "not-reachable route_unreachable -")
    try namespace.run("ip rule del uidrange 65534-65534 prohibit")
    #expect(try user.summary() == "wifi route_up v0")
    try namespace.run("ip rule add uidrange 65534-65534 table 100")
    #expect(try user.summary() == "wifi interface_changed w0")
    #expect(try root.isQuiet(in: namespace))
  }

  @Test(.enabled(if: NetworkNamespace.isLinux(6, 2), "Linux renames a link that is up since 6.2"))
  func `a link is renamed`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link set v0 name lan7")
    #expect(try follow.summary() == "wifi interface_changed lan7")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `a link is moved to another namespace`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("\(NetworkNamespace.makeAnother); ip link set v0 netns $pid; kill $pid")
    #expect(try follow.summary() == "not-reachable link_down -")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `two hundred links that come and go make no line`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run(
      "for i in $(seq 200); do echo link add s$i type veth peer name t$i; echo link set s$i up; echo link set t$i up; "
        + "echo addr add 10.77.$i.1/24 dev s$i; echo link del s$i; done | ip -batch -")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `what moves no path makes no line`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run(
      "ip link set v0 mtu 1400", "ip link set v0 txqueuelen 77", "ip addr add 10.3.0.1/24 dev v0",
      "ip addr change 10.0.0.1/24 dev v0 valid_lft 1000 preferred_lft 900",
      "ip addr change 10.0.0.1/24 dev v0 valid_lft 1000 preferred_lft 0", "ip route add 198.51.100.0/24 via 10.0.0.2",
      "ip route add default via 10.0.0.2 metric 900", "ip route del default via 10.0.0.2 metric 900")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `a route that is wider than a watched address but not a default`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.run(
      "ip link add w0 type veth peer name w1", "ip link set w1 up", "ip link set w0 up",
      "ip addr add 10.1.0.1/24 dev w0")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip route add 192.0.0.0/9 dev w0")
    #expect(try follow.summary() == "wifi interface_changed w0")
    try namespace.run("ip route add 192.64.0.0/10 dev v0", "ip route del 192.0.0.0/9 dev w0")
    #expect(try follow.summary() == "wifi interface_changed v0")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `sysfs of another namespace is not believed`() throws {
    // The /sys in this namespace is that of the parent, whose devices may have the same names.
    let namespace = try NetworkNamespace()
    try namespace.run(
      "ip link add eth0 type veth peer name p0", "ip link set p0 up", "ip link set eth0 up",
      "ip addr add 10.0.0.1/24 dev eth0",
      "ip route add default via 10.0.0.2")
    let follow = try namespace.follow()
    #expect(try follow.next().medium == "virtual")
  }
}
