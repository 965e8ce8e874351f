import Testing

/// VPN clients that replace the default route, as vpnc-script, openconnect and OpenVPN without `def1` do, each on the
/// real kernel.
@Suite struct ReplacedRouteTests {
  /// The addresses and commands of one address family.
  struct Family: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let ip: String
    let server: String
    let gateway: String
    let otherGateway: String
    let setUp: [String]
    let otherAddress: String
  }

  static let families = [
    Family(
      testDescription: "IPv4", ip: "ip", server: "198.18.0.7/32", gateway: "10.0.0.2", otherGateway: "10.1.0.2",
      setUp: ["ip addr add 10.0.0.1/24 dev v0", "ip route add default via 10.0.0.2"], otherAddress: "10.1.0.1/24"),
    Family(
      testDescription: "IPv6", ip: "ip -6", server: "fd99::7/128", gateway: "fd00::2", otherGateway: "fd01::2",
      setUp: ["ip addr add fd00::1/64 dev v0 nodad", "ip route add default via fd00::2 dev v0"],
      otherAddress: "fd01::1/64"),
  ]

  /// Creates a namespace with a veth pair, and an address and a default route of one family.
  private static func namespace(_ family: Family) throws -> NetworkNamespace {
    let namespace = try NetworkNamespace.withPair()
    try namespace.waitUntilRunning("v0")
    for command in family.setUp { try namespace.run(command) }
    return namespace
  }

  /// Adds w0, a second link with an address and no default route.
  private static func addCandidate(_ namespace: NetworkNamespace, _ family: Family) throws {
    try namespace.run(
      "ip link add w0 type veth peer name w1", "ip link set w1 up", "ip link set w0 up",
      "ip addr add \(family.otherAddress) dev w0 \(family.ip == "ip" ? "" : "nodad")")
    try namespace.waitUntilRunning("w0")
  }

  private static func replace(_ namespace: NetworkNamespace, _ family: Family) throws -> ChildProcess {
    let tunnel = try namespace.addTunnel("tun0")
    if family.ip != "ip" { try namespace.run("ip addr add fd08::2/64 dev tun0 nodad") }
    try namespace.run("\(family.ip) route replace default dev tun0")
    return tunnel
  }

  @Test(arguments: families)
  func `the route to the server tells what carries the tunnel`(_ family: Family) throws {
    let namespace = try Self.namespace(family)
    try Self.addCandidate(namespace, family)
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("\(family.ip) route add \(family.server) via \(family.gateway) dev v0")
    let tunnel = try Self.replace(namespace, family)
    let line = try follow.next()
    #expect(line.summary == "wifi vpn_up v0")
    #expect(line.tunnel == "tun0 known")
    #expect(line.medium == "virtual")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    let status = try ChildProcess.run(namespace.command([Programs.netwatch, "--check"]))
    #expect(status.ending == .exited(1))
    try namespace.run("ip link set v1 up")
    #expect(try follow.summary() == "wifi route_up v0")
    // The client moves to another link. The default route stays.
    try namespace.run(
      "\(family.ip) route add \(family.server) via \(family.otherGateway) dev w0 metric 5",
      "\(family.ip) route del \(family.server) via \(family.gateway) dev v0")
    var moved = try follow.next()
    // Between the two commands, both links have a route to the server.
    if moved.interface == "tun0" { moved = try follow.next() }
    #expect(moved.interface == "w0")
    #expect(moved.tunnel == "tun0 known")
    withExtendedLifetime(tunnel) {}
  }

  @Test(arguments: families)
  func `without a route to the server the only candidate carries it`(_ family: Family) throws {
    let namespace = try Self.namespace(family)
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    let tunnel = try Self.replace(namespace, family)
    let line = try follow.next()
    #expect(line.summary == "wifi vpn_up v0")
    #expect(line.tunnel == "tun0 known")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip link set v1 up")
    #expect(try follow.summary() == "wifi route_up v0")
    withExtendedLifetime(tunnel) {}
  }

  @Test(arguments: [
    [], ["ip route add 198.18.0.7/32 via 10.0.0.2 dev v0", "ip route add 198.18.0.8/32 via 10.1.0.2 dev w0"],
    // The kernel, a router or DHCP has written these routes, not a VPN.
    ["ip route add 198.18.0.7/32 via 10.0.0.2 dev v0 proto dhcp"],
    ["ip route add 198.18.0.7/32 via 10.0.0.2 dev v0 proto kernel"],
    ["ip route add 198.18.0.7/32 via 10.0.0.2 dev v0 proto ra"],
    // These routes have no gateway, are not for a single address, or lead nowhere.
    ["ip route add 198.18.0.7/32 dev v0"], ["ip route add 198.18.0.0/24 via 10.0.0.2 dev v0"],
    ["ip route add unreachable 198.18.0.7/32"],
  ])
  func `of two candidates nothing tells which one carries it`(routes: [String]) throws {
    let family = Self.families[0]
    let namespace = try Self.namespace(family)
    try Self.addCandidate(namespace, family)
    for route in routes { try namespace.run(route) }
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    let tunnel = try Self.replace(namespace, family)
    let line = try follow.next()
    #expect(line.summary == "wifi vpn_up tun0")
    #expect(line.tunnel == "tun0 unknown")
    #expect(line.medium == "other")
    #expect(line.isExpensive == false)
    #expect(line.ipv4?["address"] as? String == "10.8.0.2")
    // If one candidate is lost, the other one carries the tunnel, unless both have a route to a single address.
    try namespace.run("ip link set w1 down")
    if routes.count == 2 {
      #expect(try follow.isQuiet(in: namespace))
    } else {
      let known = try follow.next()
      #expect(known.summary == "wifi medium_changed v0")
      #expect(known.tunnel == "tun0 known")
    }
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    withExtendedLifetime(tunnel) {}
  }

  @Test(arguments: [
    (["--wwan", "v0", "--wwan", "w0"], "wwan", true), (["--wwan", "w0"], "wifi", true), ([], "wifi", false),
  ])
  func `what all candidates are is known`(options: [String], status: String, isExpensive: Bool) throws {
    let family = Self.families[0]
    let namespace = try Self.namespace(family)
    try Self.addCandidate(namespace, family)
    let tunnel = try Self.replace(namespace, family)
    let command = namespace.command([Programs.netwatch, "--json"] + options)
    let line = try Line(try #require(ChildProcess.run(command).output.first))
    #expect(line.summary == "\(status) initial tun0")
    #expect(line.isExpensive == isExpensive)
    let text = try ChildProcess.run(
      namespace.command([Programs.netwatch, "--format", "text"] + options), environment: ["LC_ALL=C.UTF-8"])
    #expect(text.output.first?.contains("over tun0, on an unknown link") == true)
    let bar = try ChildProcess.run(
      namespace.command([Programs.netwatch, "--format", "polybar", "--color", "never"] + options),
      environment: ["LC_ALL=C.UTF-8"])
    #expect(bar.output.first == "● tun0 VPN")
    withExtendedLifetime(tunnel) {}
  }

  @Test func `the network manager clears up after a pulled cable`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run("ip addr add 10.0.0.1/24 dev v0", "ip route add default via 10.0.0.2 metric 100")
    try namespace.waitUntilRunning("v0")
    let tunnel = try namespace.addTunnel("tun0")
    try namespace.run("ip route add default dev tun0 metric 50")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip link set v1 down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    try namespace.run("ip addr flush dev v0")
    #expect(try follow.isQuiet(in: namespace))
    withExtendedLifetime(tunnel) {}
  }
}
