import Foundation
import Glibc
import NetwatchTestSupport
import Testing

extension GuestTests {
  /// Tests of why a WiFi network was left, or not joined.
  @Suite struct Endings {
    /// A way in which a connection ends or does not begin, and what is told of it.
    struct Ending: Sendable, CustomTestStringConvertible {
      let testDescription: String
      let kind: String
      let codes: [Int?]
      /// Ends the connection of the station.
      var end: @Sendable (GuestRadios) throws -> Void = { _ in }
      /// The network that the station cannot join; nil if it joins, and its connection ends.
      var refusing: GuestNetwork?

      init(_ name: String, _ kind: String, _ codes: Int?..., end: @escaping @Sendable (GuestRadios) throws -> Void) {
        (testDescription, self.kind, self.codes, self.end) = (name, kind, codes, end)
      }

      init(_ name: String, _ kind: String, _ codes: Int?..., change: (inout GuestNetwork) -> Void) {
        (testDescription, self.kind, self.codes) = (name, kind, codes)
        var network = GuestNetwork.home
        change(&network)
        refusing = network
      }
    }

    static let station = GuestRadios.address(of: 0)

    static let endings = [
      Ending("sent away because of too many stations", "ended_by_access_point", 5) {
        try $0.tellAccessPoint("deauthenticate \(station) reason=5")
      },
      Ending("disassociated because of lost frames", "ended_by_access_point", 34) {
        try $0.tellAccessPoint("disassociate \(station) reason=34")
      },
      Ending("the access point ends", "ended_by_access_point", 3) { try $0.stop() },
      Ending("the access point falls silent", "lost", nil) {
        try $0.air.run("ip link set wlan1 down")
        try $0.stop()
      },
      Ending("the user disconnects", "ended_by_this_machine", 3) { try $0.tellStation("disconnect") },
      // hostapd gives up after the handshake: reason 15, or 2 if the station has left meanwhile.
      Ending("the password is wrong", "ended_by_access_point", 15, 2) {
        $0.wrongKey = String(repeating: "3a", count: 32)
      },
      Ending("the access point is full", "refused", 17) { $0.policy = "max_num_sta=0" },
      Ending("the access point does not want the station", "refused", 1) {
        $0.policy = "macaddr_acl=1\naccept_mac_file=/dev/null"
      },
    ]

    /// How often each ending is staged: the value of the variable `NETWATCH_ENDING_ROUNDS`, otherwise 5.
    private static var rounds: Int {
      ProcessInfo.processInfo.environment["NETWATCH_ENDING_ROUNDS"].flatMap { Int($0) } ?? 5
    }

    @Test(arguments: endings) func `each end has its name`(_ ending: Ending) throws {
      let radios = try GuestRadios()
      for round in 1...Self.rounds {
        try radios.start(ending.refusing ?? .home)
        if ending.refusing == nil {
          try radios.join(.home)
          try radios.station.run("ip addr replace 10.77.0.2/24 dev wlan0", "ip route replace default via 10.77.0.1")
        }
        let follow = try radios.station.follow("--no-service", "--wifi-details")
        #expect(try follow.next().status == (ending.refusing == nil ? "wifi" : "not-reachable"))
        if let network = ending.refusing { try radios.tryToJoin(network) } else { try ending.end(radios) }
        var told: [String: Any]?
        while told == nil { told = try follow.next().object["wifi_end"] as? [String: Any] }
        #expect(told?["kind"] as? String == ending.kind, "round \(round): \(told ?? [:])")
        #expect(ending.codes.contains(told?["code"] as? Int), "round \(round): \(told ?? [:])")
        radios.leave()
        try radios.stop()
      }
    }

    @Test func `people are told, too`() throws {
      let radios = try GuestRadios.online()
      let follow = try ChildProcess(
        radios.station.command([Programs.netwatch, "-f", "--no-service", "--color", "never"]))
      _ = try follow.nextLine()
      try radios.tellAccessPoint("deauthenticate \(Self.station) reason=5")
      let words = "the access point has ended the connection (reason 5: it has too many stations)"
      while try !(follow.nextLine() ?? "").contains(words) {}
    }
  }
}
