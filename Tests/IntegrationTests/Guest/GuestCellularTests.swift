import Testing

extension GuestTests {
  /// Tests of modems, alone and beside a WiFi radio.
  @Suite struct Cellular {
    /// Adds a link of the kernel's modem `wwan0`. The link ID 7 makes it another connection than the driver's own.
    static func addModem(to namespace: NetworkNamespace) throws {
      try Guest.run("modprobe wwan_hwsim devices=1")
      try namespace.run(
        "ip link add dev modem parentdev wwan0 type wwan linkid 7", "ip link set modem up",
        "ip addr add 10.55.0.2/30 dev modem")
    }

    @Test func `a modem is cellular, and expensive`() throws {
      let namespace = try NetworkNamespace(withSysfs: true)
      let follow = try namespace.follow()
      #expect(try follow.next().status == "not-reachable")
      try Self.addModem(to: namespace)
      try namespace.run("ip route add default dev modem")
      let line = try follow.next()
      #expect(line.summary == "wwan route_up modem")
      #expect(line.medium == "wwan")
      #expect(line.isExpensive == true)
      #expect(line.cost == "modem")
      #expect(line.wifi == nil)
      try namespace.run("ip link del modem")
      #expect(try follow.summary() == "not-reachable link_down -")
      #expect(try follow.isQuiet(in: namespace))
    }

    @Test func `of a radio and a modem, the kernel's choice is told`() throws {
      let radios = try GuestRadios()
      try radios.start(.home)
      try radios.join(.home)
      try radios.station.run("ip addr add 10.77.0.2/24 dev wlan0", "ip route add default via 10.77.0.1 metric 600")
      try Self.addModem(to: radios.station)
      try radios.station.run("ip route add default dev modem metric 700")
      let follow = try radios.station.follow()
      #expect(try follow.summary() == "wifi initial wlan0")
      try radios.station.run("ip route add default dev modem metric 500")
      let cellular = try follow.next()
      #expect(cellular.summary == "wwan medium_changed modem")
      #expect(cellular.isExpensive == true)
      #expect(cellular.wifi == nil)
      try radios.station.run("ip route del default dev modem metric 500")
      let wireless = try follow.next()
      #expect(wireless.summary == "wifi medium_changed wlan0")
      #expect(wireless.isExpensive == false)
      #expect(wireless.networkName == "home")
      // Even without its WiFi network the kernel continues to use wlan0, until somebody removes the route.
      try radios.stop()
      #expect(try follow.next().status == "not-reachable")
      try radios.station.run("ip route del default dev wlan0")
      #expect(try follow.summary() == "wwan route_up modem")
      #expect(try follow.isQuiet(in: radios.station))
    }
  }
}
