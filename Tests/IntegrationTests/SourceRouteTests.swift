import NetwatchTestSupport
import Testing

/// Routes and rules that select by the source address of a packet. The kernel looks up a way, takes a source address
/// from it, and looks up again with that address.
@Suite struct SourceRouteTests {
  /// Creates a namespace with two links, eth0 and eth1, which have 10.0.1.2 and 10.1.1.2. Only eth0 has a default
  /// route.
  private static func twoLinks() throws -> NetworkNamespace {
    let namespace = try NetworkNamespace()
    for number in 0...1 {
      try namespace.configure(
        "link add eth\(number) type veth peer name p\(number)", "link set p\(number) up", "link set eth\(number) up",
        "addr add 10.\(number).1.2/24 dev eth\(number)", "addr add 2a02:\(number + 1)::2/64 dev eth\(number) nodad")
      try namespace.waitUntilRunning("eth\(number)")
    }
    try namespace.configure("route add default via 10.0.1.1 dev eth0")
    return namespace
  }

  private static func explain(_ namespace: NetworkNamespace) throws -> String {
    try ChildProcess.run(
      namespace.command([Programs.netwatch, "explain"]), environment: ["LC_ALL=C.UTF-8"]
    ).output.joined(separator: "\n")
  }

  @Test func `a rule for the source leads over another link`() throws {
    let namespace = try Self.twoLinks()
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial eth0")
    try namespace.configure("route add default via 10.1.1.1 dev eth1 table 200")
    try namespace.configure("rule add pref 100 from 10.0.1.2 lookup 200")
    let line = try follow.next()
    #expect(line.summary == "wifi interface_changed eth1")
    #expect(line.ipv4?["address"] as? String == "10.0.1.2")
    #expect(line.ipv4?["gateway"] as? String == "10.1.1.1")
    #expect(try Self.explain(namespace).contains("100: from 10.0.1.2 lookup 200"))
    // No socket uses eth0 any more.
    try namespace.run("ip link set p0 down")
    #expect(try follow.isQuiet(in: namespace))
    try namespace.run("ip link set p1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip link set p1 up")
    #expect(try follow.summary() == "wifi route_up eth1")
    try namespace.run("ip link set p0 up")
    try namespace.waitUntilRunning("eth0")
    try namespace.run("ip rule del pref 100")
    #expect(try follow.summary() == "wifi interface_changed eth0")
  }

  @Test(arguments: ["prohibit", "unreachable", "blackhole"])
  func `a rule for the source forbids`(_ action: String) throws {
    let namespace = try Self.twoLinks()
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial eth0")
    try namespace.run("ip rule add pref 100 from 10.0.0.0/16 \(action)")
    // A rule that says "unreachable" gives the error of a missing route (ENETUNREACH).
    let reason = action == "unreachable" ? "no_route" : "route_unreachable"
    #expect(try follow.summary() == "not-reachable \(reason) -")
    if action != "unreachable" {
      #expect(try Self.explain(namespace).contains("100: from 10.0.0.0/16 \(action)"))
    }
    try namespace.run("ip rule del pref 100")
    #expect(try follow.summary() == "wifi route_up eth0")
    // A rule for another source changes nothing.
    try namespace.run("ip rule add pref 100 from 10.1.1.2 \(action)")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `an IPv6 route for a source prefix is a way`() throws {
    let namespace = try Self.twoLinks()
    try namespace.run("ip route del default")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "not-reachable no_route -")
    try namespace.run("ip -6 route add default from 2a02:1::/64 via fe80::1 dev eth0")
    let line = try follow.next()
    #expect(line.summary == "wifi route_up eth0")
    #expect(line.ipv6?["address"] as? String == "2a02:1::2")
    #expect(line.ipv6?["gateway"] as? String == "fe80::1")
    #expect(try Self.explain(namespace).contains("2a02:1::2"))
    try namespace.run("ip link set p0 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip link set p0 up")
    #expect(try follow.summary() == "wifi route_up eth0")
    try namespace.run("ip -6 route del default from 2a02:1::/64")
    #expect(try follow.summary() == "not-reachable no_route -")
  }

  @Test func `an IPv6 rule for a source is a way`() throws {
    let namespace = try Self.twoLinks()
    try namespace.run("ip route del default")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "not-reachable no_route -")
    try namespace.run(
      "ip -6 route add default via fe80::1 dev eth1 table 200", "ip -6 rule add pref 100 from 2a02:2::2 lookup 200")
    let line = try follow.next()
    #expect(line.summary == "wifi route_up eth1")
    #expect(line.ipv6?["address"] as? String == "2a02:2::2")
    try namespace.run("ip -6 rule del pref 100")
    #expect(try follow.summary() == "not-reachable no_route -")
  }

  @Test func `IPv6 keeps the first way, whatever a rule says of its source`() throws {
    let namespace = try Self.twoLinks()
    try namespace.run("ip route del default", "ip -6 route add default via fe80::1 dev eth0")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial eth0")
    try namespace.run(
      "ip -6 route add default via fe80::1 dev eth1 table 200", "ip -6 rule add pref 100 from 2a02:1::2 lookup 200")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `the table of a source may filter documentation addresses`() throws {
    let namespace = try Self.twoLinks()
    try namespace.run(
      "ip route add default via 10.1.1.1 dev eth1 table 200", "ip route add unreachable 192.0.2.0/24 table 200",
      "ip rule add pref 100 from 10.0.1.2 lookup 200")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial eth1")
  }

  @Test func `IPv4 does not use an address of scope link towards a router`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.waitUntilRunning("v0")
    try namespace.run("ip addr add 10.9.9.9/32 dev v0 scope link", "ip route add default via 10.0.0.1 dev v0 onlink")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "not-reachable no_address -")
    #expect(try Self.explain(namespace).contains("10.9.9.9 is only for destinations on the link (scope link)"))
    try namespace.run("ip addr add 10.0.0.7/24 dev v0")
    #expect(try follow.summary() == "wifi route_up v0")
    try namespace.run("ip addr del 10.0.0.7/24 dev v0", "ip route add default via 10.0.0.1 dev v0 onlink || :")
    #expect(try follow.summary() == "not-reachable no_address -")
  }

  @Test(arguments: [4, 6])
  func `of several next hops one that works is enough, in each order`(_ family: Int) throws {
    let namespace = try Self.twoLinks()
    try namespace.run("ip route del default")
    let hops = (0...1).map { "nexthop via \(family == 4 ? "10.\($0).1.1" : "fe80::1") dev eth\($0)" }
    try namespace.run("ip -\(family) route add default \(hops.joined(separator: " "))")
    let follow = try namespace.follow()
    let first = try #require(try follow.next().interface)
    let (peer, other) = first == "eth0" ? ("p0", "eth1") : ("p1", "eth0")
    try namespace.run("ip link set \(peer) down")
    #expect(try follow.summary() == "wifi interface_changed \(other)")
    for _ in 0..<3 {
      let fresh = try ChildProcess.run(namespace.command([Programs.netwatch, "--json", "--no-service"]))
      #expect(try Line(#require(fresh.output.first)).interface == other)
    }
    try namespace.run("ip link set \(peer) up")
    #expect(try follow.summary() == "wifi interface_changed \(first)")
  }

  @Test func `without the first next hop, the source is the one that the kernel takes`() throws {
    let namespace = try Self.twoLinks()
    try namespace.run(
      "ip route del default", "ip addr add 2a02:1::1/128 dev eth1 nodad", "ip addr add 2a02:ff::1/128 dev eth1 nodad",
      "ip -6 route add default nexthop via fe80::1 dev eth0 nexthop via fe80::1 dev eth1")
    let follow = try namespace.follow()
    let first = try #require(try follow.next().interface)
    let (peer, other) = first == "eth0" ? ("p0", "eth1") : ("p1", "eth0")
    try namespace.run("ip link set \(peer) down")
    let line = try follow.next()
    #expect(line.interface == other)
    let command = namespace.command(["ip", "-o", "-6", "route", "get", "2001:db8::1", "oif", other])
    let kernel = try ChildProcess.run(command).output.joined()
    #expect(kernel.contains("src \(line.ipv6?["address"] as? String ?? "none") "), "\(kernel)")
  }

  @Test(arguments: 0...1)
  func `a next hop whose source a rule forbids does not hide the other`(_ forbidden: Int) throws {
    let namespace = try Self.twoLinks()
    let hops = (0...1).map { "nexthop via 10.\($0).1.1 dev eth\($0)" }
    try namespace.run(
      "ip route del default", "ip route add default \(hops.joined(separator: " "))",
      "ip rule add pref 100 from 10.\(forbidden).1.2 prohibit")
    let follow = try namespace.follow()
    let line = try follow.next()
    #expect(line.summary == "wifi initial eth\(1 - forbidden)")
    #expect(line.ipv4?["address"] as? String == "10.\(1 - forbidden).1.2")
    try namespace.run("ip rule add pref 101 from 10.\(1 - forbidden).1.2 prohibit")
    #expect(try follow.summary() == "not-reachable route_unreachable -")
    try namespace.run("ip rule del pref 101")
    #expect(try follow.summary() == "wifi route_up eth\(1 - forbidden)")
  }

  @Test func `a next hop on a link without IPv6 is dead`() throws {
    let namespace = try Self.twoLinks()
    try namespace.run(
      "ip route del default",
      "ip -6 route add default \((0...1).map { "nexthop via fe80::1 dev eth\($0)" }.joined(separator: " "))",
      "echo 1 >/proc/sys/net/ipv6/conf/eth1/disable_ipv6")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial eth0")
    try namespace.run("ip link set p0 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    #expect(try namespace.follow().summary() == "not-reachable no_carrier -")
  }
}
