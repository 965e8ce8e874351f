import Testing

/// The probe addresses, which stand for the internet: for which one the kernel is asked, and source addresses that are
/// on no link.
@Suite struct StandInTests {
  /// A network that contains a documentation address, as laboratories and virtual machines do.
  struct Laboratory: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let addresses: [String]
    let gateway: String
  }

  static let laboratories = [
    Laboratory(testDescription: "192.0.2.0/24", addresses: ["192.0.2.7/24"], gateway: "192.0.2.254"),
    Laboratory(
      testDescription: "all three of IPv4", addresses: ["192.0.2.7/24", "198.51.100.7/24", "203.0.113.7/24"],
      gateway: "192.0.2.254"),
    Laboratory(testDescription: "2001:db8::/64", addresses: ["2001:db8::7/64"], gateway: "2001:db8::fe"),
    Laboratory(
      testDescription: "both of IPv6", addresses: ["2001:db8::7/64", "3fff::7/64"], gateway: "2001:db8::fe"),
  ]

  @Test(arguments: laboratories)
  func `documentation addresses on a link are not the internet`(_ laboratory: Laboratory) throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.waitUntilRunning("v0")
    for address in laboratory.addresses {
      try namespace.run("ip addr add \(address) dev v0 \(address.contains(":") ? "nodad" : "")")
    }
    let follow = try namespace.follow()
    #expect(try follow.summary() == "not-reachable no_route -")
    try namespace.run("ip route add default via \(laboratory.gateway)")
    let line = try follow.next()
    #expect(line.summary == "wifi route_up v0")
    #expect((line.ipv4 ?? line.ipv6)?["gateway"] as? String == laboratory.gateway)
    try namespace.run("ip route del default via \(laboratory.gateway)")
    #expect(try follow.summary() == "not-reachable no_route -")
  }

  @Test func `a network on the link without an address of it says nothing`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run("ip addr add 10.0.0.1/24 dev v0", "ip route add 192.0.2.0/24 dev v0 proto kernel")
    try namespace.waitUntilRunning("v0")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "not-reachable no_route -")
    try namespace.run("ip route add default via 10.0.0.2")
    #expect(try follow.summary() == "wifi route_up v0")
  }

  @Test func `a link without a gateway leads out if its default route does`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run("ip addr add 10.0.0.1/24 dev v0", "ip route add default dev v0")
    let line = try namespace.follow().next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.ipv4?["gateway"] as? String == nil)
  }

  @Test func `filters refuse documentation addresses, and the internet is there all the same`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.run("ip addr add fd00::1/64 dev v0 nodad", "ip route add default via fd00::2 dev v0")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    // Another probe address decides now, which is not reported.
    try namespace.run("ip route add unreachable 192.0.2.0/24", "ip route add unreachable 2001:db8::/32")
    #expect(try follow.isQuiet(in: namespace))
    let line = try Line(
      try #require(ChildProcess.run(namespace.command([Programs.netwatch, "--json"])).output.first))
    #expect(line.ipv4 != nil && line.ipv6 != nil)
    try namespace.run("ip -6 route del default")
    #expect(try follow.summary() == "wifi address_changed v0")
    try namespace.run("ip route del default")
    #expect(try follow.summary() == "not-reachable no_route -")
    try namespace.run("ip route add unreachable default")
    try namespace.run("ip link set v1 down")
    let late = try namespace.follow()
    #expect(try late.summary() == "not-reachable route_unreachable -")
  }

  @Test func `a router with all routes of the internet needs no default`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run("ip addr add 10.0.0.1/24 dev v0")
    try namespace.waitUntilRunning("v0")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "not-reachable no_route -")
    try namespace.run("ip route add 198.41.0.0/24 via 10.0.0.2")
    #expect(try follow.summary() == "wifi route_up v0")
    try namespace.run("ip route del 198.41.0.0/24")
    #expect(try follow.summary() == "not-reachable no_route -")
    try namespace.run("ip addr add fd00::1/64 dev v0 nodad", "ip route add 2001:503:ba3e::/48 via fd00::2")
    #expect(try follow.summary() == "wifi route_up v0")
  }

  @Test func `the last default route is gone, and no open port is left behind`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.followUnrecorded()
    #expect(try follow.summary() == "wifi initial v0")
    for _ in 1...3 {
      try namespace.run("ip route del default")
      #expect(try follow.summary() == "not-reachable no_route -")
      try namespace.run("timeout 60 sh -c 'until [ $(wc -l </proc/net/udp) = 1 ]; do sleep 0.01; done'")
      try namespace.run("ip route add default via 10.0.0.2")
      #expect(try follow.summary() == "wifi route_up v0")
    }
  }

  /// The kernel applies these rules to a connection, but not to a question for a route.
  @Test(arguments: ["ipproto udp sport 1024-65534 unreachable", "uidrange 0-0 lookup main"])
  func `a rule that another way of asking would meet changes nothing`(_ rule: String) throws {
    let namespace = try NetworkNamespace.online()
    try namespace.run("ip route add default via 10.0.0.3 metric 50")
    let follow = try namespace.followUnrecorded()
    #expect(try follow.next().ipv4?["gateway"] as? String == "10.0.0.2")
    for _ in 1...3 {
      try namespace.run("ip route del default via 10.0.0.2")
      #expect(try follow.next().ipv4?["gateway"] as? String == "10.0.0.3")
      try namespace.run("ip route add default via 10.0.0.2")
      #expect(try follow.next().ipv4?["gateway"] as? String == "10.0.0.2")
      // The first removal comes before the rule. netwatch may know the rule at the second removal, and knows it at the
      // third one.
      try namespace.run("ip rule add \(rule)")
    }
  }

  @Test func `only the root server has a route when the default is gone`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.run("ip rule add to 198.41.0.0/24 lookup 100", "ip route add default via 10.0.0.3 table 100")
    let follow = try namespace.followUnrecorded()
    #expect(try follow.next().ipv4?["gateway"] as? String == "10.0.0.2")
    try namespace.run("ip route del default")
    let line = try follow.next()
    #expect(line.summary == "wifi address_changed v0")
    #expect(line.ipv4?["gateway"] as? String == "10.0.0.3")
    try namespace.run("ip route del default table 100")
    #expect(try follow.summary() == "not-reachable no_route -")
  }

  @Test(arguments: ["unreachable", "prohibit", "blackhole"])
  func `what comes after the default route forbids the way`(_ kind: String) throws {
    let namespace = try NetworkNamespace.online()
    try namespace.run("ip route add \(kind) default metric 4000")
    let follow = try namespace.followUnrecorded()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip route del default via 10.0.0.2")
    #expect(try follow.summary() == "not-reachable route_unreachable -")
  }

  // MARK: Sources

  @Test func `464XLAT: IPv6 carries IPv4`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.waitUntilRunning("v0")
    try namespace.run("ip addr add fd00::1/64 dev v0 nodad", "ip route add default via fd00::2 dev v0")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    let clat = try namespace.addTunnel("clat")
    try namespace.run("ip addr add 192.0.0.4/32 dev clat", "ip route add default dev clat src 192.0.0.4")
    let line = try follow.next()
    #expect(line.summary == "wifi address_changed v0")
    #expect(line.vpn == nil)
    #expect(line.ipv4?["address"] as? String == "192.0.0.4")
    #expect(line.ipv4?["gateway"] as? String == nil)
    #expect(line.ipv6?["address"] as? String == "fd00::1")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    withExtendedLifetime(clat) {}
  }

  @Test func `AnyIP: the source belongs to a prefix of this machine's`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.waitUntilRunning("v0")
    try namespace.run(
      "ip addr add 10.0.0.1/24 dev v0", "ip route add local 10.77.0.0/24 dev lo",
      "ip route add default via 10.0.0.2 src 10.77.0.5")
    let follow = try namespace.follow()
    let line = try follow.next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.ipv4?["address"] as? String == "10.77.0.5")
    // Without the prefix, the source is no address of this machine, although the route still names it.
    try namespace.run("ip route del local 10.77.0.0/24 dev lo", "ip -4 addr add 10.3.0.1/24 dev v0")
    #expect(try follow.summary() == "not-reachable no_address -")
    try namespace.run("ip route add local 10.77.0.0/24 dev lo", "ip -4 addr del 10.3.0.1/24 dev v0")
    #expect(try follow.summary() == "wifi route_up v0")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
  }
}
