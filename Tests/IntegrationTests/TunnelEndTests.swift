import Testing

/// Tunnels that name their other end, or the link that carries them, each on the real kernel.
@Suite struct TunnelEndTests {
  /// Creates a namespace with a VXLAN that has the default route. Only a route to the other end of the VXLAN leads out.
  static func vxlan(_ options: String = "", remote: String = "198.51.100.7") throws -> NetworkNamespace {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run(
      "ip addr add 10.0.0.1/24 dev v0", "ip addr add 2001:db8:1::1/64 dev v0 nodad",
      "ip link add vx0 type vxlan id 1 remote \(remote) dstport 4789 \(options)", "ip link set vx0 up",
      "ip addr add 10.8.0.2/24 dev vx0", "ip route add default via 10.8.0.1")
    return namespace
  }

  @Test(arguments: [("198.51.100.7", "10.0.0.2"), ("2001:db8:9::7", "2001:db8:1::2")])
  func `the route to the other end goes away, and comes back`(remote: String, gateway: String) throws {
    let namespace = try Self.vxlan(remote: remote)
    try namespace.run("ip route add \(remote) via \(gateway)")
    let follow = try namespace.follow()
    let line = try follow.next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.ipv4?["address"] as? String == "10.8.0.2")
    for _ in 0..<3 {
      try namespace.run("ip route del \(remote)")
      #expect(try follow.summary() == "not-reachable vpn_without_underlay -")
      try namespace.run("ip route add \(remote) via \(gateway)")
      #expect(try follow.summary() == "wifi route_up v0")
    }
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `another end over one link, though another link has a route`() throws {
    let namespace = try Self.vxlan("dev v0")
    try namespace.addSecondUplink()
    try namespace.run("ip route add 198.51.100.7 via 10.0.0.2")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip route replace 198.51.100.7 via 10.1.0.2")
    #expect(try follow.summary() == "not-reachable vpn_without_underlay -")
    // For a packet that has to leave by v0, the kernel uses the less specific route over v0 in place of the one over
    // w0.
    try namespace.run("ip route add 198.51.100.0/24 via 10.0.0.2")
    #expect(try follow.summary() == "wifi route_up v0")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `a tunnel that comes later brings another end to watch`() throws {
    let namespace = try NetworkNamespace.online()
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run(
      "ip route add 198.51.100.7 via 10.0.0.2", "ip link add vx0 type vxlan id 1 remote 198.51.100.7 dstport 4789",
      "ip link set vx0 up", "ip addr add 10.8.0.2/24 dev vx0", "ip route replace default via 10.8.0.1")
    #expect(try follow.summary() == "wifi vpn_up v0")
    try namespace.run("ip route del 198.51.100.7")
    #expect(try follow.summary() == "not-reachable vpn_without_underlay -")
    try namespace.run("ip link del vx0", "ip route add default via 10.0.0.2")
    #expect(try follow.summary() == "wifi route_up v0")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `more other ends than the socket's filter has room for`() throws {
    let namespace = try NetworkNamespace.withPair()
    // Kernels before 6.8 have this value for all namespaces together.
    try namespace.run(
      "[ ! -e /proc/sys/net/core/optmem_max ] || echo 20480 > /proc/sys/net/core/optmem_max",
      "ip addr add 10.0.0.1/24 dev v0",
      "ip addr add 2001:db8:1::1/64 dev v0 nodad",
      "for i in $(seq 20); do ip link add vx$i type vxlan id $i remote 2001:db8:9::$i dstport 4789; done",
      "ip link set vx20 up", "ip addr add 10.8.0.2/24 dev vx20", "ip route add default via 10.8.0.1",
      "ip route add 2001:db8:9::20 via 2001:db8:1::2")
    // The end of this check would also make netwatch ask for the path again.
    try namespace.waitUntilAddressesAreChecked()
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip route del 2001:db8:9::20")
    #expect(try follow.summary() == "not-reachable vpn_without_underlay -")
    try namespace.run("for i in $(seq 19); do ip link del vx$i; done", "ip route add 2001:db8:9::20 via 2001:db8:1::2")
    #expect(try follow.summary() == "wifi route_up v0")
  }

  @Test func `a tunnel to a group is bound to a link`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.addSecondUplink()
    try namespace.run(
      "ip addr add 10.0.0.1/24 dev v0", "ip link add vx0 type vxlan id 1 group 239.1.1.1 dev v0 dstport 4789",
      "ip link set vx0 up", "ip addr add 10.8.0.2/24 dev vx0", "ip route add default via 10.8.0.1")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "wifi initial v0")
    try namespace.run("ip addr del 10.0.0.1/24 dev v0")
    #expect(try follow.summary() == "not-reachable no_address -")
  }

  @Test func `other ends that lie behind each other`() throws {
    let namespace = try NetworkNamespace.online()
    try namespace.run(
      "ip link add vx0 type vxlan id 1 remote 198.51.100.7 dstport 4789",
      "ip link add vx1 type vxlan id 2 remote 198.51.100.8 dstport 4789", "ip link set vx0 up", "ip link set vx1 up",
      "ip addr add 10.8.0.2/24 dev vx0", "ip addr add 10.8.1.2/24 dev vx1", "ip route add 198.51.100.7 via 10.8.1.1",
      "ip route add 198.51.100.8 via 10.8.0.1", "ip route replace default via 10.8.0.1")
    let follow = try namespace.follow()
    #expect(try follow.summary() == "not-reachable vpn_without_underlay -")
    try namespace.run("ip route replace 198.51.100.8 via 10.0.0.2")
    let line = try follow.next()
    #expect(line.summary == "wifi route_up v0")
    #expect(line.vpn?["interface"] as? String == "vx0")
    #expect(line.vpn?["kind"] as? String == "vxlan")
    #expect(try follow.isQuiet(in: namespace))
  }
}
