import Foundation
import NetwatchTestSupport
import Testing

extension GuestTests {
  /// Tests of networks that say that they are metered, as the hotspots of phones do.
  @Suite struct Hotspot {
    /// The elements of beacons with cost level 2, "fixed", and with cost level 1, "unrestricted", and the element that
    /// an iPhone sends.
    static let fixedCost = "dd080050f21102000200"
    static let unrestricted = "dd080050f21101000000"
    static let personalHotspot = "dd0a0017f206010103030000"

    private func network(_ elements: String, _ name: String = "home") -> GuestNetwork {
      GuestNetwork(name: Array(name.utf8), isOpen: false, vendorElements: elements)
    }

    /// Returns the output of `netwatch explain` as one line, wherever the output is folded.
    private func explanation(_ radios: GuestRadios) throws -> String {
      let lines = try ChildProcess.run(radios.station.command([Programs.netwatch, "explain"])).output
      return lines.joined(separator: " ").split(separator: " ").joined(separator: " ")
    }

    @Test(arguments: [
      (fixedCost, "its access point says that data is metered (network cost element)"),
      (personalHotspot, "its access point says that it is a phone's hotspot (Apple's element)"),
      (unrestricted, nil), ("", nil),
    ])
    func `the beacon of the network that is joined says what it costs`(elements: String, sentence: String?) throws {
      let radios = try GuestRadios.online(network(elements))
      let follow = try radios.station.follow()
      let line = try follow.next()
      #expect(line.summary == "wifi initial wlan0")
      #expect(line.isExpensive == (sentence != nil))
      #expect(line.cost == (sentence == nil ? "free" : "beacon"))
      #expect(try follow.isQuiet(in: radios.station))
      let explanation = try explanation(radios)
      if let sentence {
        #expect(explanation.contains(sentence), "\(explanation)")
        #expect(explanation.contains("it may cost money"), "\(explanation)")
        // An option of the user counts more than the beacon.
        let other = try radios.station.follow("--not-expensive", "home")
        #expect(try other.next().isExpensive == false)
      } else {
        #expect(!explanation.contains("metered") && !explanation.contains("hotspot"), "\(explanation)")
      }
    }

    @Test func `a station that moves to a hotspot of the same name is told that it may cost money`() throws {
      let radios = try GuestRadios.online()
      let follow = try radios.station.follow("--hold", "30")
      #expect(try follow.next().isExpensive == false)
      try radios.start(network(Self.fixedCost), radio: 2)
      try radios.roam(to: GuestRadios.address(of: 2))
      let line = try follow.next()
      #expect(line.summary == "wifi network_changed wlan0")
      #expect(line.isExpensive == true)
    }

    @Test func `a rule names a network by its bytes or by a pattern`() throws {
      // The name contains a quote and a byte that is not UTF-8.
      let radios = try GuestRadios.online(
        GuestNetwork(name: Array("Jo\"s ".utf8) + [0xff], isOpen: false, vendorElements: Self.fixedCost))
      let folder = "/etc/netwatch"
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      // A recording does not read files of rules, so this follower does not record.
      let follow = try radios.station.followUnrecorded()
      #expect(try follow.next().cost == "beacon")
      for (rule, cost) in [
        ("not-metered ssid \"Jo\\\"s \\xff\"", "free"), ("constrained ssid Jo*", "beacon constrained"),
        ("metered ssid Jo????", "rule"), ("not-metered ssid \"Jo*\"", "beacon"), ("not-metered ssid *", "free"),
      ] {
        // The file is replaced in one step, so that netwatch reads it only once.
        try Data("\(rule)\n".utf8).write(to: URL(filePath: "\(folder)/rules"), options: .atomic)
        let line = try follow.next()
        #expect(line.cost == cost, "\(rule)")
        #expect(line.summary == "wifi rules_changed wlan0")
        if rule.hasPrefix("metered") {
          #expect(try explanation(radios).contains("your options or rules say that it may cost money"))
        }
      }
    }

    /// The test writes the file as systemd-networkd does: whole, in one step, and after the address is set.
    @Test func `a lease with ANDROID_METERED says so, whenever its file comes`() throws {
      let radios = try GuestRadios.online()
      let leases = "/run/systemd/netif/leases"
      let follow = try radios.station.follow()
      #expect(try follow.next().isExpensive == false)
      let lease = [
        "mkdir -p \(leases)",
        "printf 'ADDRESS=10.77.0.2\\nVENDOR_SPECIFIC=414e44524f49445f4d455445524544\\n' >\(leases)/.new",
        "mv \(leases)/.new \(leases)/$(cat /sys/class/net/wlan0/ifindex)",
      ]
      defer { try? FileManager.default.removeItem(atPath: leases) }
      for command in lease { try radios.station.run(command) }
      var line = try follow.next()
      #expect(line.summary == "wifi network_changed wlan0")
      #expect(line.isExpensive == true)
      #expect(line.cost == "lease")
      let explanation = try explanation(radios)
      #expect(explanation.contains("phone's hotspot (ANDROID_METERED)"), "\(explanation)")
      // There is no lease of the new address.
      try radios.station.run("ip addr del 10.77.0.2/24 dev wlan0")
      #expect(try follow.next().status == "not-reachable")
      try radios.station.run(
        "ip addr add 10.77.0.3/24 dev wlan0", "ip route add default via 10.77.0.1 dev wlan0")
      line = try follow.next()
      #expect(line.summary == "wifi route_up wlan0")
      #expect(line.isExpensive == false)
    }
  }
}
