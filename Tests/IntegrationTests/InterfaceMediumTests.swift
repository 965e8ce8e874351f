import Testing

/// Tests of the media of links that stand on others, on the real kernel. A namespace does not have the host's network
/// cards, so an ifb stands for one.
@Suite struct InterfaceMediumTests {
  /// Returns the medium of each interface in a line, by the interface's name.
  static func media(_ line: Line) -> [String: String] {
    (line.interfaces ?? []).reduce(into: [:]) { media, interface in
      if let name = interface["name"] as? String { media[name] = interface["medium"] as? String }
    }
  }

  @Test func `every link is listed with the medium of what it stands on`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run(
      "ip link add ifb0 type ifb", "ip link set ifb0 up", "ip link add ifb1 type ifb", "ip link set ifb1 up",
      "ip link add br0 type bridge", "ip link set br0 up", "ip link set v0 master br0",
      "ip link add link v1 name mv0 type macvlan",
      "ip link add link ifb0 name mv1 type macvlan", "ip link add link br0 name mv2 type macvlan",
      "ip link add vx0 type vxlan id 1 remote 198.51.100.7 dstport 4789", "ip link add br1 type bridge")
    let follow = try namespace.follow("--interfaces")
    #expect(
      Self.media(try follow.next()) == [
        "lo": "other", "v0": "virtual", "v1": "virtual", "ifb0": "other", "ifb1": "other", "br0": "virtual",
        "mv0": "virtual",
        "mv1": "other", "mv2": "virtual", "vx0": "other", "br1": "virtual",
      ])
    // A port that is not the link of a container or a virtual machine changes the medium of the bridge, and of the link
    // that stands on the bridge.
    try namespace.run("ip link set ifb1 master br0")
    var last = try follow.next()
    while Self.media(last)["mv2"] != "other" { last = try follow.next() }
    #expect(Self.media(last)["br0"] == "other")
    try namespace.run("ip link set ifb1 nomaster")
    while Self.media(last)["mv2"] != "virtual" { last = try follow.next() }
    #expect(Self.media(last)["br0"] == "virtual")
  }

  @Test func `a bridge changes its medium with its ports`() throws {
    let namespace = try NetworkNamespace.withPair()
    try namespace.run(
      "ip link add ifb0 type ifb", "ip link set ifb0 up", "ip link add br0 type bridge", "ip link set br0 up",
      "ip link set v0 master br0", "ip addr add 10.0.0.1/24 dev br0", "ip route add default via 10.0.0.2")
    let follow = try namespace.follow()
    var line = try follow.next()
    #expect(line.summary == "wifi initial br0")
    #expect(line.medium == "virtual")
    try namespace.run("ip link set ifb0 master br0")
    line = try follow.next()
    #expect(line.summary == "wifi medium_changed br0")
    #expect(line.medium == "other")
    try namespace.run("ip link set ifb0 down")
    line = try follow.next()
    #expect(line.summary == "wifi medium_changed br0")
    #expect(line.medium == "virtual")
    try namespace.run("ip link del v0")
    #expect(try follow.summary() == "not-reachable no_carrier -")
    #expect(try follow.isQuiet(in: namespace))
  }

  @Test func `a macvlan whose link is in another namespace`() throws {
    let namespace = try NetworkNamespace()
    try namespace.run(
      "\(NetworkNamespace.makeAnother)",
      "nsenter --target $pid --net sh -c 'ip link add ifb0 type ifb; ip link set ifb0 up'",
      "nsenter --target $pid --net ip link add link ifb0 name mv0 type macvlan",
      "nsenter --target $pid --net ip link set mv0 netns $$", "ip link set mv0 up", "ip addr add 10.0.0.1/24 dev mv0",
      "ip route add default via 10.0.0.2")
    let follow = try namespace.follow()
    let line = try follow.next()
    #expect(line.summary == "wifi initial mv0")
    #expect(line.medium == "virtual")
    try namespace.run("kill $pid")
    #expect(try follow.summary() == "not-reachable link_down -")
  }
}
