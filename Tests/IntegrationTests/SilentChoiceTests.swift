import NetwatchTestSupport
import Testing

/// Cases in which the kernel chooses another route, or a route ends, and no message about routes says so.
@Suite struct SilentChoiceTests {
  /// Two uplinks, eth1 and eth2, whose far ends are in other namespaces. Both far ends have 198.19.0.1 and 2a02:ff::1.
  private final class Uplinks {
    let near: NetworkNamespace
    private let far: [NetworkNamespace]

    init() throws {
      let near = try NetworkNamespace()
      self.near = near
      far = try (1...2).map { _ in try NetworkNamespace(beside: near) }
      for number in 1...2 {
        let far = far[number - 1]
        try near.configure("link add eth\(number) type veth peer name p netns \(far.pid)")
        try far.configure(
          "link set p up", "addr add 10.\(number).0.1/24 dev p", "addr add 198.19.0.1/32 dev lo",
          "addr add fe80::1/64 dev p nodad", "addr add 2a02:ff::1/128 dev lo nodad")
        try near.configure(
          "link set eth\(number) up", "addr add 10.\(number).0.2/24 dev eth\(number)",
          "addr add 2a02:\(number)::2/64 dev eth\(number) nodad")
        try near.waitUntilRunning("eth\(number)")
        try near.hurryNeighbours(on: "eth\(number)")
      }
    }

    /// Switches the far end of an uplink on or off.
    func set(_ number: Int, isUp: Bool) throws {
      try far[number - 1].run("ip link set p \(isUp ? "up" : "down")")
    }

  }

  private static func fresh(_ namespace: NetworkNamespace) throws -> Line {
    let result = try ChildProcess.run(namespace.command([Programs.netwatch, "status", "--json", "--no-service"]))
    return try Line(#require(result.output.first))
  }

  /// Starts `netwatch --follow` while a router on eth1 has failed, so that the path leads over eth2. The kernel has one
  /// neighbour table for all namespaces. Now and then it cleans the table up and forgets routers that have failed. Then
  /// this method tries again.
  private static func followPast(_ router: String, in near: NetworkNamespace) throws -> Follow {
    while true {
      try near.run("ip neigh replace \(router) dev eth1 nud failed")
      let follow = try near.follow("--no-service")
      if try follow.summary() == "wifi initial eth2" { return follow }
    }
  }

  @Test(arguments: [4, 6])
  func `of two equal routes the other one is taken when a link loses its carrier`(_ family: Int) throws {
    let uplinks = try Uplinks()
    for (number, verb) in [(2, "add"), (1, "append")] {
      let gateway = family == 4 ? "10.\(number).0.1" : "fe80::1"
      try uplinks.near.run("ip -\(family) route \(verb) default via \(gateway) dev eth\(number) metric 1024")
    }
    let follow = try uplinks.near.follow("--no-service")
    let first = try #require(try follow.next().interface)
    let other = first == "eth1" ? "eth2" : "eth1"
    try uplinks.set(first == "eth1" ? 1 : 2, isUp: false)
    // The kernel takes the other route after it has looked for the router and found none. Its choice until then depends
    // on what it has heard.
    let sender = try uplinks.near.keepSending(to: family == 4 ? "198.19.0.1" : "2a02:ff::1")
    while try follow.next().interface != other {}
    // Now and then, the kernel tries the router that it has not found.
    try eventually(Self.fresh(uplinks.near).interface) { $0 == other }
    withExtendedLifetime(sender) {}
  }

  @Test func `a better IPv6 route is left when its link loses its carrier`() throws {
    let uplinks = try Uplinks()
    try uplinks.near.run(
      "ip -6 route add default via fe80::1 dev eth1 metric 100",
      "ip -6 route add default via fe80::1 dev eth2 metric 600")
    let follow = try uplinks.near.follow("--no-service")
    #expect(try follow.summary() == "wifi initial eth1")
    try uplinks.set(1, isUp: false)
    let sender = try uplinks.near.keepSending(to: "2a02:ff::1")
    while try follow.next().interface != "eth2" {}
    try eventually(Self.fresh(uplinks.near).interface) { $0 == "eth2" }
    withExtendedLifetime(sender) {}
  }

  @Test func `a router that fails makes place for the one of another link`() throws {
    let uplinks = try Uplinks()
    try uplinks.near.run(
      "ip route add default via 10.2.0.1 dev eth2 metric 1024",
      "ip route append default via 10.1.0.1 dev eth1 metric 1024",
      "ip neigh replace 10.2.0.1 dev eth2 lladdr 02:00:00:00:00:02 nud reachable",
      "ip neigh replace 10.1.0.1 dev eth1 lladdr 02:00:00:00:00:01 nud reachable")
    let follow = try uplinks.near.follow("--no-service")
    let first = try #require(try follow.next().interface)
    let (number, other) = first == "eth1" ? (1, "eth2") : (2, "eth1")
    try uplinks.near.run("ip neigh change 10.\(number).0.1 dev \(first) nud failed")
    #expect(try follow.summary() == "wifi interface_changed \(other)")
    #expect(try Self.fresh(uplinks.near).interface == other)
  }

  @Test func `of two equal routes the first one is taken when its router is heard of`() throws {
    let uplinks = try Uplinks()
    let near = uplinks.near
    // The kernel looks at the routes in their order, and takes the first one whose router has answered just now.
    try near.run(
      "ip route add default via 10.1.0.1 dev eth1 metric 1024",
      "ip route append default via 10.2.0.1 dev eth2 metric 1024",
      "ip neigh replace 10.2.0.1 dev eth2 lladdr 02:00:00:00:00:02 nud reachable")
    let follow = try Self.followPast("10.1.0.1", in: near)
    try near.run("ip neigh replace 10.1.0.1 dev eth1 lladdr 02:00:00:00:00:01 nud reachable")
    #expect(try follow.summary() == "wifi interface_changed eth1")
    #expect(try Self.fresh(near).interface == "eth1")
  }

  @Test func `a better IPv6 route is taken again when the kernel forgets that its router has failed`() throws {
    let uplinks = try Uplinks()
    let near = uplinks.near
    try near.run(
      "ip -6 route add default via fe80::1 dev eth1 metric 100",
      "ip -6 route add default via fe80::1 dev eth2 metric 600",
      "ip neigh replace fe80::1 dev eth2 lladdr 02:00:00:00:00:02 nud reachable")
    let follow = try Self.followPast("fe80::1", in: near)
    try near.run("ip -6 neigh flush to fe80::1 dev eth1 nud failed")
    #expect(try follow.summary() == "wifi interface_changed eth1")
    #expect(try Self.fresh(near).interface == "eth1")
  }

  @Test func `a more specific IPv6 route is taken again when its router is heard of`() throws {
    let uplinks = try Uplinks()
    let near = uplinks.near
    try near.run(
      "ip -6 route add 2000::/3 via fe80::1 dev eth1", "ip -6 route add default via fe80::1 dev eth2",
      "ip neigh replace fe80::1 dev eth2 lladdr 02:00:00:00:00:02 nud reachable")
    let follow = try Self.followPast("fe80::1", in: near)
    try near.run("ip neigh replace fe80::1 dev eth1 lladdr 02:00:00:00:00:01 nud reachable")
    #expect(try follow.summary() == "wifi interface_changed eth1")
    #expect(try Self.fresh(near).interface == "eth1")
  }

  @Test func `an IPv4 route by an IPv6 router is left when that fails`() throws {
    let uplinks = try Uplinks()
    let near = uplinks.near
    try near.run(
      "ip route add default via inet6 fe80::1 dev eth1 metric 1024",
      "ip route append default via inet6 fe80::2 dev eth2 metric 1024",
      "ip neigh replace fe80::1 dev eth1 lladdr 02:00:00:00:00:01 nud reachable",
      "ip neigh replace fe80::2 dev eth2 lladdr 02:00:00:00:00:02 nud reachable")
    let follow = try near.follow("--no-service")
    let first = try #require(try follow.next().interface)
    let (number, other) = first == "eth1" ? (1, "eth2") : (2, "eth1")
    try near.run("ip neigh change fe80::\(number) dev \(first) nud failed")
    #expect(try follow.summary() == "wifi interface_changed \(other)")
    #expect(try Self.fresh(near).interface == other)
  }

  @Test func `a router that shortens the lifetime of its route is missed in time`() throws {
    let near = try NetworkNamespace()
    let far = try NetworkNamespace(beside: near)
    try near.configure("link add v0 type veth peer name v1 netns \(far.pid)", "link set v0 up")
    try far.run("ip addr add fe80::1/64 dev v1 nodad", "ip link set v1 up")
    try near.waitUntilRunning("v0")
    try near.waitUntilAddressesAreChecked()
    // Both advertisements have to come from the same address.
    try far.waitUntilAddressesAreChecked()
    try far.advertise(from: "v1", lifetime: 1800)
    let follow = try near.follow("--no-service")
    while try follow.next().status != "wifi" {}
    let advertised = Line.monotonicNow
    try far.advertise(from: "v1", lifetime: 3)
    let line = try follow.next()
    #expect(line.summary == "not-reachable no_route -")
    let seconds = Double((line.monotonicNanoseconds ?? 0) - advertised) / 1e9
    #expect(seconds > 2.5 && seconds < 15, "\(seconds)")
  }
}
