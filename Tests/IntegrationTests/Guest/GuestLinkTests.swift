import Testing

extension GuestTests {
  /// Tests that a link that stands on others has their medium.
  @Suite struct Links {
    private func media(in namespace: NetworkNamespace) throws -> [String: String] {
      let result = try ChildProcess.run(namespace.command([Programs.netwatch, "--interfaces", "--json"]))
      let links = try #require(try result.output.first.map(Line.init)?.interfaces)
      let pairs = links.map { ($0["name"] as? String ?? "?", $0["medium"] as? String ?? "?") }
      return Dictionary(pairs) { first, _ in first }
    }

    @Test func `a link on a radio`() throws {
      let radios = try GuestRadios()
      try radios.station.run("ip link set wlan0 up")
      for kind in ["vlan id 7", "macvlan mode bridge", "macvtap", "ipvlan mode l2", "macsec"] {
        try radios.station.run("ip link add link wlan0 name upper type \(kind)")
        let media = try media(in: radios.station)
        #expect(media["wlan0"] == "wifi")
        #expect(media["upper"] == "wifi", "\(kind)")
        try radios.station.run("ip link del upper")
      }
    }

    @Test func `a link on no radio`() throws {
      let namespace = try NetworkNamespace.withPair(withSysfs: true)
      try Cellular.addModem(to: namespace)
      try namespace.run(
        "ip link add dummy type dummy", "ip link set dummy up", "ip link add link v0 name vlan type vlan id 7",
        "ip link add link v1 name macvlan type macvlan", "ip link add link dummy name ipvlan type ipvlan",
        "ip link add link v0 name macsec type macsec", "ip link add bridge0 type bridge", "ip link add bond0 type bond",
        "ip link add team0 type team", "ip link add vrf0 type vrf table 7",
        "for name in vlan macvlan ipvlan macsec bridge0 bond0 team0 vrf0; do ip link set $name up; done")
      let media = try media(in: namespace)
      let expected = [
        "lo": "other", "v0": "virtual", "v1": "virtual", "dummy": "other", "modem": "wwan", "vlan": "virtual",
        "macvlan": "virtual", "ipvlan": "other", "macsec": "virtual", "bridge0": "virtual", "bond0": "virtual",
        "team0": "virtual", "vrf0": "virtual",
      ]
      for (name, medium) in expected { #expect(media[name] == medium, "\(name)") }
    }

    @Test func `a bond, a bridge and a team have the medium of their port`() throws {
      let namespace = try NetworkNamespace(withSysfs: true)
      let links = [
        ("a0", "dummy", "bond mode active-backup", "other"), ("b0", "veth", "bond mode active-backup", "virtual"),
        ("c0", "dummy", "bridge", "other"), ("d0", "veth", "bridge", "virtual"), ("e0", "dummy", "team", "other"),
        ("f0", "veth", "team", "virtual"),
      ]
      for (name, port, kind, _) in links {
        let peer = port == "veth" ? "peer name p-\(name)" : ""
        try namespace.run(
          "ip link add \(name) type \(kind)", "ip link add q-\(name) type \(port) \(peer)",
          "ip link set q-\(name) master \(name)", "ip link set q-\(name) up", "ip link set \(name) up",
          peer.isEmpty ? "true" : "ip link set p-\(name) up")
      }
      let media = try media(in: namespace)
      for (name, port, kind, medium) in links { #expect(media[name] == medium, "\(kind) of \(port)") }
    }

    @Test func `a bond whose active port is dead carries nothing`() throws {
      let namespace = try NetworkNamespace(withSysfs: true)
      // Without `miimon`, the kernel does not look whether the ports have carriers.
      try namespace.run(
        "ip link add bond0 type bond mode active-backup miimon 0", "ip link add q0 type veth peer name p0",
        "ip link add q1 type veth peer name p1", "ip link set q0 master bond0", "ip link set q1 master bond0",
        "for name in p0 p1 q0 q1 bond0; do ip link set $name up; done", "ip addr add 10.0.0.1/24 dev bond0",
        "ip route add default via 10.0.0.2", "ip link set bond0 type bond active_slave q0")
      try namespace.waitUntilRunning("bond0")
      let follow = try namespace.follow()
      #expect(try follow.summary() == "wifi initial bond0")
      try namespace.run("ip link set p1 down")
      #expect(try follow.isQuiet(in: namespace))
      try namespace.run("ip link set p1 up", "ip link set p0 down")
      #expect(try follow.summary() == "not-reachable no_carrier -")
      try namespace.run("ip link set bond0 type bond active_slave q1")
      #expect(try follow.summary() == "wifi route_up bond0")
    }

    @Test func `a program in a VRF leaves by the routes of the VRF`() throws {
      let namespace = try NetworkNamespace.online()
      try namespace.run(
        "ip link add vrf0 type vrf table 7", "ip link set vrf0 up", "ip link add w0 type veth peer name w1",
        "ip link set w0 master vrf0", "ip link set w1 up", "ip link set w0 up", "ip addr add 10.1.0.1/24 dev w0",
        "ip route add default via 10.1.0.2 table 7")
      try namespace.waitUntilRunning("w0")
      func interface(_ before: [String]) throws -> String? {
        let command = namespace.command(before + [Programs.netwatch, "--json", "--no-service"])
        let result = try ChildProcess.run(command)
        return try Line(#require(result.output.first, "\(result.error)")).interface
      }
      #expect(try interface([]) == "v0")
      #expect(try interface(["ip", "vrf", "exec", "vrf0"]) == "w0")
      try namespace.run("ip link set w1 down")
      #expect(try interface(["ip", "vrf", "exec", "vrf0"]) == nil)
      #expect(try interface([]) == "v0")
    }

    @Test func `an access point and a monitor are no way into a network`() throws {
      let radios = try GuestRadios()
      try radios.start(.home)
      try radios.air.run("iw dev wlan2 set type monitor", "ip link set wlan2 up")
      let media = try media(in: radios.air)
      #expect(media["wlan1"] == "other")
      #expect(media["wlan2"] == "other")
    }

    @Test func `a bond of a radio has its network`() throws {
      let radios = try GuestRadios()
      try radios.start(.home)
      try radios.station.run(
        "ip link add bond0 type bond mode active-backup miimon 100 fail_over_mac active",
        "ip link set wlan0 master bond0", "ip link set bond0 up")
      try radios.join(.home)
      try radios.configure("bond0")
      let follow = try radios.station.follow()
      while try follow.next().status != "wifi" {}
      let line = try #require(follow.lines.last)
      #expect(line.interface == "bond0")
      #expect(line.medium == "wifi")
      #expect(line.networkName == "home")
      #expect(try media(in: radios.station)["bond0"] == "wifi")
      try radios.stop()
      #expect(try follow.next().status == "not-reachable")
      try radios.start(.home)
      #expect(try follow.next().networkName == "home")
    }

    @Test func `a vlan on a radio has its network`() throws {
      let radios = try GuestRadios()
      try radios.start(.home)
      try radios.join(.home)
      try radios.station.run("ip link add link wlan0 name vlan7 type vlan id 7", "ip link set vlan7 up")
      try radios.configure("vlan7")
      let follow = try radios.station.follow()
      while try follow.next().status != "wifi" {}
      let line = try #require(follow.lines.last)
      #expect(line.interface == "vlan7")
      #expect(line.medium == "wifi")
      #expect(line.networkName == "home")
    }
  }
}
