import Testing

extension GuestTests {
  /// Tests of what carries a tunnel, such as a radio or a modem.
  @Suite struct Tunnels {
    /// Adds a WireGuard tunnel with the rules of `wg-quick up`, and waits until its peer has answered.
    private static func raise(_ radios: GuestRadios) throws {
      let folder = radios.folder.path
      try radios.air.run(
        "cd \(folder); umask 077; for key in a b; do wg genkey > $key; wg pubkey < $key > $key.pub; done",
        "ip link add wg1 type wireguard",
        "wg set wg1 private-key \(folder)/b listen-port 51821 peer $(cat \(folder)/a.pub) allowed-ips 10.66.0.2/32",
        "ip addr add 10.66.0.1/24 dev wg1", "ip link set wg1 up")
      try radios.station.run(
        "ip link add wg0 type wireguard",
        "wg set wg0 private-key \(folder)/a fwmark 51820 peer $(cat \(folder)/b.pub) endpoint 10.77.0.1:51821 "
          + "allowed-ips 0.0.0.0/0 persistent-keepalive 1",
        "ip addr add 10.66.0.2/32 dev wg0", "ip link set wg0 up", "ip route add default dev wg0 table 51820",
        "ip rule add not fwmark 51820 table 51820", "ip rule add table main suppress_prefixlength 0",
        "until wg show wg0 latest-handshakes | grep -q '[1-9][0-9]*$'; do sleep 0.05; done")
    }

    private static func isThroughWireGuard(_ line: Line) -> Bool {
      line.vpn?["interface"] as? String == "wg0" && line.vpn?["kind"] as? String == "wireguard"
    }

    @Test func `WireGuard over a radio`() throws {
      let radios = try GuestRadios.online()
      let follow = try radios.station.follow()
      let before = try follow.next()
      #expect(before.summary == "wifi initial wlan0")
      #expect(before.vpn == nil)

      try Self.raise(radios)
      let line = try follow.next()
      #expect(line.summary == "wifi vpn_up wlan0")
      #expect(line.medium == "wifi")
      #expect(Self.isThroughWireGuard(line), "\(line)")
      #expect(line.networkName == "home")
      #expect(line.ipv4?["address"] as? String == "10.66.0.2")
      #expect(try follow.isQuiet(in: radios.station))

      // The tunnel stays up, but nothing carries it.
      try radios.stop()
      let loss = try follow.next()
      #expect(loss.status == "not-reachable")
      #expect(["vpn_without_underlay", "no_carrier", "dormant"].contains(loss.reason), "\(loss)")
      try radios.start(.home)
      let again = try follow.next()
      #expect(again.summary == "wifi route_up wlan0")
      #expect(Self.isThroughWireGuard(again), "\(again)")

      try radios.station.run("ip link del wg0")
      let after = try follow.next()
      #expect(after.summary == "wifi vpn_down wlan0")
      #expect(after.vpn == nil)
      #expect(after.networkName == "home")
    }

    @Test func `a VPN by pppd is one if the user says so`() throws {
      let namespace = try NetworkNamespace.online()
      // The other end of the connection is in a namespace of its own, so that its link is not in this one.
      try namespace.run(
        "modprobe ppp_generic; modprobe ppp_async; mkdir -p /var/run /etc/ppp",
        "pppd nodetach noauth local nodefaultroute 10.7.0.2:10.7.0.1 "
          + "pty 'unshare --net pppd nodetach noauth local notty 10.7.0.1:10.7.0.2' > /tmp/pppd.log 2>&1 & pppd=$!",
        "until ip -o -4 addr show ppp0 2>/dev/null | grep -q 10.7.0.2; do kill -0 $pppd && sleep 0.05 || exit; done",
        "ip route add 198.18.0.7/32 via 10.0.0.2", "ip route replace default dev ppp0")
      let plain = try namespace.follow()
      let before = try plain.next()
      #expect(before.summary == "wifi initial ppp0")
      #expect(before.medium == "other")
      #expect(before.vpn == nil)
      let follow = try namespace.follow("--tunnel", "ppp*")
      let line = try follow.next()
      #expect(line.summary == "wifi initial v0")
      #expect(line.tunnel == "ppp0 known")
      #expect(line.ipv4?["address"] as? String == "10.7.0.2")
      try namespace.run("ip link set v1 down")
      #expect(try follow.summary() == "not-reachable no_carrier -")
      #expect(try plain.isQuiet(in: namespace))
      try namespace.run("kill $pppd")
    }

    @Test func `WireGuard that was made in another namespace is carried there`() throws {
      let namespace = try NetworkNamespace()
      try namespace.run(
        NetworkNamespace.makeAnother, "nsenter --target $pid --net ip link add wg0 type wireguard",
        "nsenter --target $pid --net ip link set wg0 netns $$", "ip addr add 10.66.0.2/32 dev wg0",
        "ip link set wg0 up",
        "ip route add default dev wg0")
      let follow = try namespace.follow()
      let line = try follow.next()
      #expect(line.summary == "wifi initial wg0")
      #expect(line.tunnel == "wg0 unknown")
      #expect(line.medium == "other")
      try namespace.run("ip link del wg0", "kill $pid")
      #expect(try follow.summary() == "not-reachable link_down -")
    }

    @Test func `WireGuard that has taken the place of the default route`() throws {
      let namespace = try NetworkNamespace.online()
      let follow = try namespace.follow()
      #expect(try follow.summary() == "wifi initial v0")
      try namespace.run(
        "ip link add wg0 type wireguard", "ip addr add 10.66.0.2/32 dev wg0", "ip link set wg0 up",
        "ip route add 198.18.0.7/32 via 10.0.0.2 dev v0", "ip route replace default dev wg0")
      let line = try follow.next()
      #expect(line.summary == "wifi vpn_up v0")
      #expect(line.tunnel == "wg0 known")
      try namespace.run("ip link set v1 down")
      #expect(try follow.summary() == "not-reachable no_carrier -")
    }

    @Test func `a kill switch over a dummy, and DS-Lite`() throws {
      let namespace = try NetworkNamespace.withPair()
      try namespace.waitUntilRunning("v0")
      try namespace.run(
        "ip addr add fd00::1/64 dev v0 nodad", "ip route add default via fd00::2 dev v0",
        "ip link add sink0 type dummy", "ip link set sink0 up", "ip addr add 10.9.0.1/24 dev sink0",
        "ip route add default dev sink0 metric 98")
      let follow = try namespace.follow()
      let line = try follow.next()
      #expect(line.summary == "wifi initial v0")
      #expect(line.ipv4 == nil)
      // A source in 192.0.0.0/29 marks 464XLAT only on a tun device, and ds0 is none.
      try namespace.run(
        "ip link add ds0 type ip6tnl remote fd99::1 local fd00::1 mode ipip6", "ip link set ds0 up",
        "ip addr add 192.0.0.2/29 dev ds0", "ip route add default dev ds0 metric 50")
      let lite = try follow.next()
      #expect(lite.interface == "v0")
      #expect(lite.tunnel == "ds0 known")
      #expect(lite.ipv4?["address"] as? String == "192.0.0.2")
      try namespace.run("ip link set v1 down")
      #expect(try follow.summary() == "not-reachable no_carrier -")
    }

    @Test func `WireGuard over a modem is cellular`() throws {
      let namespace = try NetworkNamespace(withSysfs: true)
      try Cellular.addModem(to: namespace)
      try namespace.run("ip route add default dev modem")
      let follow = try namespace.follow()
      #expect(try follow.summary() == "wwan initial modem")
      try namespace.run(
        "ip link add wg0 type wireguard", "wg set wg0 fwmark 51820", "ip addr add 10.66.0.2/32 dev wg0",
        "ip link set wg0 up", "ip route add default dev wg0 table 51820", "ip rule add not fwmark 51820 table 51820",
        "ip rule add table main suppress_prefixlength 0")
      let line = try follow.next()
      #expect(line.summary == "wwan vpn_up modem")
      #expect(line.isExpensive == true)
      #expect(Self.isThroughWireGuard(line), "\(line)")
    }
  }
}
