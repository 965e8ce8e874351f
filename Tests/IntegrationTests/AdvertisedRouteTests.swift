import Testing

/// Tests of things that end without a message of the kernel: routes and sources that routers advertise, and routers.
@Suite struct AdvertisedRouteTests {
  /// Returns a namespace with v0, which has two IPv6 addresses and no default route.
  static func namespace() throws -> NetworkNamespace {
    let namespace = try NetworkNamespace.withPair()
    try namespace.waitUntilRunning("v0")
    try namespace.run("ip -6 addr add 2001:db8:1::1/64 dev v0 nodad")
    return namespace
  }

  @Test(arguments: ["a router", "a program"])
  func `a route that has expired is missed before the kernel announces its end`(writer: String) throws {
    let namespace = try Self.namespace()
    let origin = writer == "a router" ? "proto ra " : ""
    try namespace.run("ip -6 route add default via fe80::99 dev v0 \(origin)expires 3")
    let added = Line.monotonicNow
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    let line = try follow.next()
    #expect(line.summary == "not-reachable no_route -")
    let seconds = Double((line.monotonicNanoseconds ?? 0) - added) / 1e9
    // The kernel stops using an expired route at once, but its message comes up to half a minute later.
    #expect(seconds > 2.5 && seconds < 15, "\(seconds)")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `a route that is advertised again lasts longer`() throws {
    let namespace = try Self.namespace()
    try namespace.run("ip -6 route add default via fe80::99 dev v0 proto ra expires 3")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("sleep 1.5", "ip -6 route replace default via fe80::99 dev v0 proto ra expires 5")
    let replaced = Line.monotonicNow
    let line = try follow.next()
    #expect(line.summary == "not-reachable no_route -")
    let seconds = Double((line.monotonicNanoseconds ?? 0) - replaced) / 1e9
    #expect(seconds > 4 && seconds < 15, "\(seconds)")
  }

  @Test func `a source that is deprecated makes place for the one that the kernel chooses`() throws {
    let namespace = try Self.namespace()
    try namespace.run("ip -6 route add default via fe80::99 dev v0 proto ra")
    let follow = try namespace.follow()
    #expect(try follow.next().ipv6?["address"] as? String == "2001:db8:1::1")
    // A deprecated address stays the source while it is the only one.
    try namespace.run("ip -6 addr change 2001:db8:1::1/64 dev v0 preferred_lft 0")
    #expect(try follow.isQuiet(in: namespace))
    try namespace.run("ip -6 addr add 2001:db8:1::2/64 dev v0 nodad")
    let second = try follow.next()
    #expect(second.summary == "wifi address_changed v0")
    #expect(second.ipv6?["address"] as? String == "2001:db8:1::2")
    try namespace.run(
      "ip -6 addr change 2001:db8:1::1/64 dev v0 preferred_lft forever",
      "ip -6 addr change 2001:db8:1::2/64 dev v0 preferred_lft 0")
    while try follow.next().ipv6?["address"] as? String != "2001:db8:1::1" {}
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `a dead router makes place for another one, and its entry may flap`() throws {
    let namespace = try Self.namespace()
    // After any other change netwatch asks the kernel again, and while the entry of a neighbour is new, the kernel
    // chooses the dead router. So wait until the addresses no longer change.
    try namespace.waitUntilAddressesAreChecked()
    try namespace.run(
      "ip -6 route add default via fe80::a dev v0 proto ra", "ip -6 route append default via fe80::b dev v0 proto ra",
      "ip -6 neigh add fe80::a dev v0 lladdr 02:00:00:00:00:0a nud reachable",
      "ip -6 neigh add fe80::b dev v0 lladdr 02:00:00:00:00:0b nud reachable")
    let follow = try namespace.follow()
    let first = try #require(try follow.next().ipv6?["gateway"] as? String)
    let other = first == "fe80::a" ? "fe80::b" : "fe80::a"
    try namespace.run("ip -6 neigh change \(first) dev v0 nud failed")
    let line = try follow.next()
    #expect(line.summary == "wifi address_changed v0")
    #expect(line.ipv6?["gateway"] as? String == other)
    // The entry changes like this when a program asks for the dead router again and again.
    for _ in 0..<5 {
      try namespace.run("ip -6 neigh change \(first) dev v0 nud none", "ip -6 neigh change \(first) dev v0 nud failed")
    }
    // The next line is about IPv4. A question about IPv6 would make the kernel try the dead router once more.
    try namespace.run("ip addr add 10.0.0.1/24 dev v0", "ip route add default via 10.0.0.2")
    var lines = [try follow.next()]
    while lines[lines.count - 1].ipv4 == nil { lines.append(try follow.next()) }
    #expect(lines[lines.count - 1].ipv4?["address"] as? String == "10.0.0.1")
    // The kernel has one table of neighbours for all namespaces. If the kernel cleans the table up, it forgets the dead
    // router, tries it once more, and announces both.
    #expect(lines.count <= 3, "\(lines.map(\.text))")
    if lines.count == 1 { #expect(lines[0].ipv6?["gateway"] as? String == other) }
  }

  @Test(arguments: [4, 6])
  func `with next-hop objects alone the other hop counts`(_ family: Int) throws {
    let namespace = try NetworkNamespace.online()
    try namespace.addSecondUplink()
    let (gateways, addresses) =
      family == 4
      ? (["10.0.0.2", "10.1.0.2"], [])
      : (["fe80::2", "fe80::3"], ["2001:db8:1::1/64 dev v0 nodad", "2001:db8:2::1/64 dev w0 nodad"])
    try namespace.run("ip route flush default", "echo 0 > /proc/sys/net/ipv4/nexthop_compat_mode")
    for address in addresses { try namespace.run("ip -6 addr add \(address)") }
    try namespace.run(
      "ip nexthop add id 1 via \(gateways[0]) dev v0", "ip nexthop add id 2 via \(gateways[1]) dev w0",
      "ip nexthop add id 10 group 1/2", "ip -\(family) route add default nhid 10")
    for (ignored, other) in [("v0", "w0"), ("w0", "v0")] {
      let result = try ChildProcess.run(
        namespace.command([Programs.netwatch, "status", "--json", "--no-service", "--ignore", ignored]))
      let line = try Line(#require(result.output.first))
      #expect(line.summary == "wifi initial \(other)")
      #expect((line.ipv4 ?? line.ipv6)?["gateway"] as? String == gateways[other == "v0" ? 0 : 1])
    }
    let follow = try namespace.follow()
    let used = try #require(try follow.next().interface)
    let (peer, other) = used == "v0" ? ("v1", "w0") : ("w1", "v0")
    try namespace.run("ip link set \(peer) down")
    #expect(try follow.summary() == "wifi interface_changed \(other)")
  }
}
