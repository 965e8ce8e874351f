import NetwatchTestSupport
import Testing

/// Which of two links carries a VPN. A laptop connects over WiFi and is docked later. The routes are those of real VPN
/// clients.
@Suite struct VPNCarrierTests {
  /// The routes that a VPN client writes: one to its server, 10.9.0.2, and those into tun0.
  struct Client: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let routes: [String]
    /// Whether the default route over wlan0 is gone.
    var replacesDefault = false
  }

  private static let halves = [
    "ip route add 0.0.0.0/1 via 10.8.0.1 dev tun0", "ip route add 128.0.0.0/1 via 10.8.0.1 dev tun0",
  ]

  static let clients = [
    Client(
      testDescription: "OpenVPN, def1", routes: ["ip route add 10.9.0.2/32 via 10.2.0.1 dev wlan0"] + halves),
    // vpnc-script takes the metric of the default route.
    Client(
      testDescription: "openconnect",
      routes: [
        "ip route add 10.9.0.2/32 via 10.2.0.1 dev wlan0 metric 600", "ip route add default dev tun0 metric 0",
      ]),
    Client(
      testDescription: "NetworkManager",
      routes: [
        "ip route add 10.9.0.2 via 10.2.0.1 dev wlan0 proto static metric 50",
        "ip route add default dev tun0 proto static metric 50",
      ]),
    Client(
      testDescription: "OpenVPN without def1",
      routes: [
        "ip route add 10.9.0.2/32 via 10.2.0.1 dev wlan0", "ip route del default dev wlan0",
        "ip route add default via 10.8.0.1 dev tun0",
      ], replacesDefault: true),
  ]

  /// Creates a namespace with wlan0, its far end, an address and a default route.
  private static func laptop() throws -> NetworkNamespace {
    let namespace = try NetworkNamespace()
    try namespace.configure(
      "link add wlan0 type veth peer name access", "link set access up", "link set wlan0 up",
      "addr add 10.2.0.2/24 dev wlan0", "route add default via 10.2.0.1 dev wlan0 metric 600")
    try namespace.waitUntilRunning("wlan0")
    return namespace
  }

  private static func dock(_ namespace: NetworkNamespace) throws {
    try namespace.configure(
      "link add eth0 type veth peer name switch", "link set switch up", "link set eth0 up",
      "addr add 10.1.0.2/24 dev eth0", "route add default via 10.1.0.1 dev eth0 metric 100")
    try namespace.waitUntilRunning("eth0")
  }

  private static func status(_ namespace: NetworkNamespace, _ options: String...) throws -> (
    ending: ChildProcess.Ending, output: [String], error: String
  ) {
    try ChildProcess.run(namespace.command([Programs.netwatch, "--no-service"] + options))
  }

  @Test(arguments: clients)
  func `the link to the server carries it, whatever the best default route is`(_ client: Client) throws {
    let namespace = try Self.laptop()
    let tunnel = try namespace.addTunnel("tun0")
    for route in client.routes { try namespace.run(route) }
    let follow = try namespace.follow()
    let first = try follow.next()
    #expect(first.summary == "wifi initial wlan0")
    #expect(first.tunnel == "tun0 known")
    try Self.dock(namespace)
    // The VPN still uses WiFi.
    #expect(try follow.isQuiet(in: namespace))
    let fresh = try Line(#require(Self.status(namespace, "--json").output.first))
    #expect(fresh.interface == "wlan0")
    #expect(fresh.tunnel == "tun0 known")
    // The cable carries no traffic.
    try namespace.run("ip link set switch down")
    #expect(try follow.isQuiet(in: namespace))
    try namespace.run("ip link set switch up", "ip link set access down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    #expect(try Self.status(namespace, "--check").ending == .exited(1))
    try namespace.run("ip link set access up")
    #expect(try follow.summary() == "wifi route_up wlan0")
    withExtendedLifetime(tunnel) {}
  }

  /// With `persist-tun`, the client keeps the tunnel, and its own packets then lead into the tunnel itself.
  @Test(arguments: [false, true])
  func `a VPN whose route to the server went with its link is not carried until the client writes it again`(
    isDocked: Bool
  )
    throws
  {
    let namespace = try Self.laptop()
    if isDocked { try Self.dock(namespace) }
    let tunnel = try namespace.addTunnel("tun0")
    for route in Self.clients[0].routes { try namespace.run(route) }
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial wlan0")
    try namespace.run("ip link set access down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    // Link managers remove the address, and the kernel then removes the routes over the link.
    try namespace.run("ip addr flush dev wlan0")
    #expect(try follow.isQuiet(in: namespace))
    try namespace.run(
      "ip link set access up", "ip addr add 10.2.0.2/24 dev wlan0",
      "ip route add default via 10.2.0.1 dev wlan0 metric 600")
    try namespace.waitUntilRunning("wlan0")
    #expect(try follow.isQuiet(in: namespace))
    try namespace.run("ip route add 10.9.0.2/32 via 10.2.0.1 dev wlan0")
    #expect(try follow.summary() == "wifi route_up wlan0")
    withExtendedLifetime(tunnel) {}
  }

  @Test func `a route of the user's own is no evidence`() throws {
    let namespace = try Self.laptop()
    try Self.dock(namespace)
    let tunnel = try namespace.addTunnel("tun0")
    try namespace.run("ip route add 198.18.0.7 via 10.2.0.99 dev wlan0")
    for route in Self.halves { try namespace.run(route) }
    let line = try Line(#require(Self.status(namespace, "--json").output.first))
    #expect(line.interface == "eth0")
    #expect(line.tunnel == "tun0 known")
    withExtendedLifetime(tunnel) {}
  }

  @Test func `what is blocked beside the VPN does not hide the link that carries it`() throws {
    let namespace = try Self.laptop()
    let tunnel = try namespace.addTunnel("tun0")
    for route in Self.clients[0].routes { try namespace.run(route) }
    // IPv6 has a route but no address.
    try namespace.run(
      "ip route add blackhole default metric 50", "ip -6 route add default via fe80::1 dev wlan0 metric 100")
    let follow = try namespace.follow()
    let line = try follow.next()
    #expect(line.summary == "wifi initial wlan0")
    #expect(line.tunnel == "tun0 known")
    try namespace.run("ip link set access down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    withExtendedLifetime(tunnel) {}
  }

  @Test func `a link that borrows its address carries a VPN too`() throws {
    let namespace = try Self.laptop()
    try Self.dock(namespace)
    let tunnel = try namespace.addTunnel("tun0")
    try namespace.run(
      "ip addr flush dev wlan0", "ip route add default dev wlan0 scope link metric 600",
      "ip route add 10.9.0.2/32 via 10.2.0.1 dev wlan0")
    for route in Self.halves { try namespace.run(route) }
    let follow = try namespace.follow()
    let line = try follow.next()
    #expect(line.summary == "wifi initial wlan0")
    #expect(line.tunnel == "tun0 known")
    try namespace.run("ip link set access down")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    withExtendedLifetime(tunnel) {}
  }

  @Test func `an unmetered connection is judged by the link that carries the tunnel`() throws {
    let namespace = try Self.laptop()
    let tunnel = try namespace.addTunnel("tun0")
    for route in Self.clients[0].routes { try namespace.run(route) }
    try Self.dock(namespace)
    #expect(try Self.status(namespace, "--check", "--for", "unmetered", "--wwan", "wlan0").ending == .exited(1))
    #expect(try Self.status(namespace, "--check", "--for", "unmetered", "--wwan", "eth0").ending == .exited(0))
    withExtendedLifetime(tunnel) {}
  }
}
