import Testing

extension GuestTests {
  /// Tests of a station and the WiFi network that it is in: the station joins a network, loses it, and moves to another
  /// one.
  @Suite struct WiFi {
    @Test func `a station joins a network`() throws {
      let radios = try GuestRadios()
      try radios.start(.home)
      let follow = try radios.station.follow()
      #expect(try follow.next().status == "not-reachable")
      try radios.join(.home)
      try radios.configure()
      let line = try follow.next()
      #expect(line.summary == "wifi route_up wlan0")
      #expect(line.medium == "wifi")
      #expect(line.isExpensive == false)
      #expect(line.ipv4?["address"] as? String == "10.77.0.2")
      #expect(line.networkName == "home")
      #expect(line.networkBytes == "686f6d65")
      #expect(try #require(line.wifi?["signal_dbm"] as? Int) < 0)
      #expect(try #require(line.wifi?["signal_percent"] as? Int) > 0)
      #expect(try follow.isQuiet(in: radios.station))
    }

    @Test func `a station that is sent away comes back at once`() throws {
      let radios = try GuestRadios.online()
      let follow = try radios.station.follow()
      // A hold of 30 seconds is longer than a station on any machine needs to come back.
      let patient = try radios.station.follow("--hold", "30")
      for one in [follow, patient] { #expect(try one.next().networkName == "home") }
      try radios.sendAway()
      let loss = try follow.next()
      #expect(loss.status == "not-reachable")
      #expect(["dormant", "no_carrier"].contains(loss.reason), "\(loss)")
      let line = try follow.next()
      #expect(line.summary == "wifi route_up wlan0")
      #expect(line.networkName == "home")
      #expect(try Follow.areQuiet([follow, patient], in: radios.station))
      #expect(patient.lines.map(\.interface) == ["wlan0", "mark0", "wlan0"])
    }

    @Test(arguments: ["says goodbye", "falls silent"])
    func `the access point goes, and comes back`(how: String) throws {
      let radios = try GuestRadios.online()
      let follow = try radios.station.follow()
      #expect(try follow.summary() == "wifi initial wlan0")
      if how == "says goodbye" { try radios.stop() } else { try radios.air.run("ip link set wlan1 down") }
      let loss = try follow.next()
      #expect(loss.status == "not-reachable")
      #expect(["dormant", "no_carrier"].contains(loss.reason), "\(loss)")
      try radios.stop()
      #expect(try follow.isQuiet(in: radios.station))
      try radios.start(.home)
      let line = try follow.next()
      #expect(line.summary == "wifi route_up wlan0")
      #expect(line.networkName == "home")
      #expect(try follow.isQuiet(in: radios.station))
    }

    @Test func `the radio is switched off, and on`() throws {
      let radios = try GuestRadios.online()
      let follow = try radios.station.follow()
      #expect(try follow.summary() == "wifi initial wlan0")
      let patient = try radios.station.follow("--hold", "1")
      #expect(try patient.summary() == "wifi initial wlan0")
      try radios.station.run("echo 1 > $(echo /sys/class/net/wlan0/phy80211/rfkill*/soft)")
      // The kernel says first that the station has left, and then that its link is down.
      let loss = try follow.next()
      #expect(loss.status == "not-reachable")
      #expect(["no_carrier", "dormant", "link_down"].contains(loss.reason), "\(loss)")
      #expect(try patient.summary() == "not-reachable link_down -")
      // The first line is written before the link is down.
      for sentence in try [loss, #require(patient.lines.last)].map({ $0.object["sentence"] as? String }) {
        #expect(sentence?.contains("switched off by rfkill") == true, "\(sentence ?? "-")")
      }
      for command in [["explain"], ["status"], ["-f", "--count", "1", "-v"]] {
        let output = try ChildProcess.run(radios.station.command([Programs.netwatch] + command)).output
        #expect(output.contains { $0.contains("switched off by rfkill") }, "\(output)")
      }
      try radios.station.run("echo 0 > $(echo /sys/class/net/wlan0/phy80211/rfkill*/soft)")
      try radios.waitForConnection()
      // The kernel has removed the default route without a message.
      try radios.station.run("ip route add default via 10.77.0.1")
      let line = try follow.next()
      #expect(line.summary == "wifi route_up wlan0")
      #expect(line.networkName == "home")
      #expect(try follow.isQuiet(in: radios.station))
    }

    @Test func `a station moves to the other access point of its network`() throws {
      let radios = try GuestRadios.online()
      let follow = try radios.station.follow("--hold", "30")
      #expect(try follow.next().networkName == "home")
      try radios.station.run("iw dev wlan0 link | grep -q \(GuestRadios.address(of: 1))")
      try radios.start(.home, radio: 2)
      let other = GuestRadios.address(of: 2)
      try radios.roam(to: other)
      try radios.station.run("iw dev wlan0 link | grep -q \(other)")
      #expect(try follow.isQuiet(in: radios.station))
      #expect(follow.lines.last?.networkName == "home")
    }

    @Test func `a station moves to another network`() throws {
      let radios = try GuestRadios.online()
      let cafe = GuestNetwork(name: Array("Café".utf8))
      let follow = try radios.station.follow("--hold", "30")
      #expect(try follow.next().networkName == "home")
      try radios.start(cafe, radio: 2)
      radios.leave()
      try radios.join(cafe)
      let line = try follow.next()
      #expect(line.status == "wifi")
      #expect(line.networkName == "Café")
      #expect(try follow.isQuiet(in: radios.station))
    }

    // MARK: Names

    static let names: [[UInt8]] = [
      Array("%{A1:reboot:}x%{A}".utf8), Array(#"Café <b>&"\%{x}#"#.utf8), Array(repeating: 0xff, count: 32),
      // This name contains a broken UTF-8 sequence, bytes that end a C string or a line, and an emoji without its end.
      [0x61, 0xc3, 0x28, 0x00, 0x1b, 0x0a, 0x22, 0xf0, 0x9f, 0x98],
    ]

    @Test(arguments: names)
    func `a name is told byte by byte`(name: [UInt8]) throws {
      let radios = try GuestRadios.online(GuestNetwork(name: name))
      let line = try radios.station.follow().next()
      #expect(line.summary == "wifi initial wlan0")
      #expect(line.networkBytes == GuestNetwork(name: name).hexadecimalName)
      #expect(line.networkName == String(decoding: name, as: UTF8.self))
    }

    @Test(arguments: [Array("$(reboot) `id`".utf8), [0x61, 0xff, 0x00, 0x0a, 0x62]] as [[UInt8]])
    func `a hook and a condition know the name, and obey none`(name: [UInt8]) throws {
      let radios = try GuestRadios.online(GuestNetwork(name: name))
      func netwatch(_ arguments: String...) throws -> (ending: ChildProcess.Ending, output: [String], error: String) {
        try ChildProcess.run(radios.station.command([Programs.netwatch] + arguments))
      }
      let hook = try netwatch("-f", "--json", "--count", "1", "--exec", "printf '<%s>\\n' \"$NETWATCH_SSID\"")
      let shown = String(decoding: name, as: UTF8.self).map { $0 == "\0" || $0 == "\n" ? "\u{fffd}" : $0 }
      #expect(hook.error == "<\(String(shown))>")
      #expect(try netwatch("--check", "--for", "ssid=home").ending == .exited(1))
      guard name.allSatisfy({ $0 < 0x7f }) else { return }
      #expect(
        try netwatch("--check", "--for", "ssid=\(String(decoding: name, as: UTF8.self))", "--for", "unmetered").ending
          == .exited(0))
    }

    @Test func `a hidden network has its name`() throws {
      let radios = try GuestRadios.online(GuestNetwork(name: Array("hidden".utf8), isOpen: false, isHidden: true))
      #expect(try radios.station.follow().next().networkName == "hidden")
    }

    /// The kernel refuses to join a network with an empty name, but a mesh has no name.
    @Test func `a mesh has no name`() throws {
      let radios = try GuestRadios()
      try radios.station.run(
        "iw dev wlan0 set type mp", "ip link set wlan0 up", "iw dev wlan0 mesh join mesh freq 2412")
      try radios.configure()
      let follow = try radios.station.follow()
      while try follow.next().status != "wifi" {}
      #expect(follow.lines.last?.medium == "wifi")
      #expect(follow.lines.last?.wifi == nil)
    }

    // MARK: The driver

    @Test func `the driver is unloaded, and loaded again`() throws {
      let radios = try GuestRadios.online()
      let follow = try radios.station.follow()
      #expect(try follow.summary() == "wifi initial wlan0")
      try GuestRadios.unload()
      let loss = try follow.next()
      #expect(loss.status == "not-reachable")
      #expect(["no_carrier", "dormant", "link_down"].contains(loss.reason), "\(loss)")
      #expect(try follow.isQuiet(in: radios.station))
      radios.leave()
      try radios.stop()
      // The netlink family nl80211 is unloaded with cfg80211, and has another number when it comes back.
      try Guest.run("modprobe -r cfg80211")
      try Guest.run("modprobe mac80211_hwsim radios=3")
      try radios.bringBack()
      try radios.start(.home)
      try radios.join(.home)
      try radios.configure()
      let line = try follow.next()
      #expect(line.summary == "wifi route_up wlan0")
      #expect(line.networkName == "home")
      #expect(try follow.isQuiet(in: radios.station))
    }
  }
}
