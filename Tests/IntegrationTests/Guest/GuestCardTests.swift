import Foundation
import NetwatchTestSupport
import Testing

extension GuestTests {
  /// Tests of QEMU's network card (e1000e).
  @Suite struct Card {
    private static func link(_ line: Line) -> [String: Any]? {
      (line.object["reachability"] as? [String: Any])?["link"] as? [String: Any]
    }

    @Test func `a card tells the speed of its cable, and when it changes`() throws {
      let namespace = try NetworkNamespace(withSysfs: true)
      try Guest.run(
        "modprobe e1000e && ip link set $(basename /sys/bus/pci/drivers/e1000e/*:*/net/*) netns \(namespace.pid) name eth0"
      )
      try namespace.run("ip link set eth0 up")
      try namespace.waitUntilRunning("eth0")
      try namespace.run("ip addr add 10.66.0.2/24 dev eth0", "ip route add default via 10.66.0.1")
      let follow = try namespace.follow("--cable", "--no-service")
      let first = try #require(try Self.link(follow.next()))
      #expect(first["interface"] as? String == "eth0")
      #expect(first["speed_mbps"] as? Int == 1000)
      #expect(first["duplex"] as? String == "full")
      #expect((first["modes"] as? [String])?.contains("1000baseT/Full") == true)
      // The card negotiates again, so the carrier may go and come back.
      _ = try ChildProcess.run(namespace.command([Programs.probe, "cable-speed", "eth0", "100"]))
      var line = try follow.next()
      while line.status != "wifi" || Self.link(line)?["speed_mbps"] as? Int == 1000 { line = try follow.next() }
      #expect(Self.link(line)?["speed_mbps"] as? Int == 100)
      #expect(Self.link(line)?["modes"] as? [String] != first["modes"] as? [String])
      func output(_ arguments: String...) throws -> String {
        try ChildProcess.run(namespace.command([Programs.netwatch] + arguments + ["--no-service"])).output
          .joined(separator: "\n")
      }
      for arguments in [["status", "-v"], ["status", "--cable"], ["-f", "--count", "1", "--cable"]] {
        let text = try ChildProcess.run(namespace.command([Programs.netwatch] + arguments + ["--no-service"])).output
        #expect(text.contains { $0.contains("100 Mb/s, full duplex") }, "\(arguments): \(text)")
      }
      #expect(try output("-f", "--count", "1", "--template", "{interface} {speed}") == "eth0 100Mb/s")
      let metrics = try output("status", "--prometheus")
      #expect(metrics.contains("netwatch_link_speed_bits_per_second{interface=\"eth0\"} 100000000"), "\(metrics)")
      #expect(metrics.contains("netwatch_link_full_duplex{interface=\"eth0\"} 1"))
      let words = try ChildProcess.run(namespace.command([Programs.netwatch, "explain"])).output
      #expect(words.contains { $0.contains("eth0: switched on, carrier, 100 Mb/s, full duplex") }, "\(words)")
      #expect(
        try ChildProcess.run(namespace.command([Programs.netwatch, "explain", "--json"])).output.joined()
          .contains(#""speed_mbps":100"#))
      try Guest.run("modprobe -r e1000e")
    }
  }
}
