import Testing

/// Tests of namespaces that reach the internet over a tunnel whose packets a process outside carries.
@Suite struct ContainerTests {
  @Test(arguments: ["tap0", "tun0"])
  func `a container without privileges, with containers of its own`(uplink: String) throws {
    let namespace = try NetworkNamespace(isContained: true)
    // slirp4netns and pasta make such a tunnel.
    let program = try namespace.addTunnel(uplink)
    try namespace.run("ip route add default via 10.8.0.1")
    let follow = try namespace.follow()
    let line = try follow.next()
    #expect(line.summary == "wifi initial \(uplink)")
    #expect(line.vpn == nil)
    func check(_ step: String) throws {
      let command = namespace.command([Programs.netwatch, "--json"])
      let line = try Line(try #require(ChildProcess.run(command).output.first))
      #expect(line.summary == "wifi initial \(uplink)", "\(step)")
      #expect(line.vpn == nil)
    }
    try namespace.run("ip link add docker0 type bridge", "ip link set docker0 up")
    try check("an empty bridge")
    try namespace.run(
      "ip addr add 172.17.0.1/16 dev docker0", "ip link add veth1 type veth peer name c1",
      "ip link set veth1 master docker0", "ip link set veth1 up", "ip link set c1 up")
    try namespace.waitUntilRunning("docker0")
    try check("a container")
    try namespace.run("ip link del docker0")
    try check("no bridge any more")
    program.closeInput()
    let end = try follow.next()
    #expect(end.summary == "not-reachable link_down -")
    #expect(end.sequence == 2, "nothing was told of the bridge")
  }

  @Test func `another link that could carry it makes it a tunnel`() throws {
    let namespace = try NetworkNamespace(isContained: true)
    let program = try namespace.addTunnel("tun0")
    try namespace.run(
      "ip link add v0 type veth peer name v1", "ip link set v1 up", "ip link set v0 up",
      "ip addr add 10.0.0.1/24 dev v0", "ip route add default dev tun0")
    try namespace.waitUntilRunning("v0")
    let follow = try namespace.follow()
    let line = try follow.next()
    #expect(line.summary == "wifi initial v0")
    #expect(line.tunnel == "tun0 known")
    try namespace.run("ip link del v0")
    #expect(try follow.summary() == "not-reachable link_down -")
    withExtendedLifetime(program) {}
  }

  @Test func `outside of a container nothing carries a lonely tunnel`() throws {
    guard NetworkNamespace.isRoot else { return }
    let namespace = try NetworkNamespace()
    let program = try namespace.addTunnel("tun0")
    try namespace.run("ip route add default via 10.8.0.1")
    #expect(try namespace.follow().summary() == "not-reachable vpn_without_underlay -")
    withExtendedLifetime(program) {}
  }

  @Test(arguments: [false, true])
  func `a tunnel that was made elsewhere is carried there`(hasUplink: Bool) throws {
    let namespace = hasUplink ? try NetworkNamespace.withPair() : try NetworkNamespace()
    if hasUplink {
      try namespace.run("ip addr add 10.0.0.1/24 dev v0", "ip route add default via 10.0.0.2 metric 600")
    }
    try namespace.run(
      "\(NetworkNamespace.makeAnother)",
      "nsenter --target $pid --net ip link add vx0 type vxlan id 1 remote 198.51.100.7 dstport 4789",
      "nsenter --target $pid --net ip link set vx0 netns $$", "ip link set vx0 up", "ip addr add 10.8.0.2/24 dev vx0",
      "ip route add default via 10.8.0.1")
    let follow = try namespace.follow()
    let line = try follow.next()
    #expect(line.summary == "wifi initial vx0")
    #expect(line.medium == "other")
    #expect(line.tunnel == "vx0 unknown")
    try namespace.run("kill $pid")
    #expect(try follow.summary() == (hasUplink ? "wifi vpn_down v0" : "not-reachable link_down -"))
  }
}
