import Testing

extension GuestTests {
  /// What lies beneath a tunnel, where it is a radio.
  @Suite struct Tunnels {
    /// The rules of `wg-quick up`, and a peer that answers.
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

      // The tunnel stays up, and leads nowhere.
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
