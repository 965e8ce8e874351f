import Foundation
import Glibc
import Netwatch
import NetwatchStream
import NetwatchTestSupport
import Testing

@testable import NetwatchCLI

/// What `netwatch` without options prints on a terminal in the most frequent situations. The expected texts are in the
/// folder Golden.
///
/// `NETWATCH_UPDATE_GOLDEN=1` writes the texts instead of comparing them. Read them before you commit them.
@Suite struct AnswerTests {
  private static let isUpdating = ProcessInfo.processInfo.environment["NETWATCH_UPDATE_GOLDEN"] != nil
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "Golden")

  struct Situation: CustomTestStringConvertible, Sendable {
    let testDescription: String
    var kernel: @Sendable () -> ScriptedKernel
    var found: @Sendable (inout EventRecord) -> Void = { _ in }
  }

  private static let wlan = NetworkEvent.link(3, "wlan0", device: DeviceTraits(isWireless: true))
  private static func joined(_ name: String) -> NetworkEvent {
    .wireless(index: 3, WirelessLink(mode: .station, ssid: SSID(Array(name.utf8))))
  }

  private static func kernel(
    _ facts: [NetworkEvent], _ ipv4: RouteAnswer? = nil, _ ipv6: RouteAnswer? = nil
  ) -> ScriptedKernel {
    var kernel = ScriptedKernel()
    kernel.facts = [.loopback] + facts
    kernel.answers[.ipv4] = ipv4
    kernel.answers[.ipv6] = ipv6
    return kernel
  }

  private static func onWiFi() -> ScriptedKernel {
    kernel([wlan, .address(3, .ip("10.1.0.1")), joined("Café")], ScriptedKernel.over(3))
  }

  private static func stages(_ failing: NetworkStage, _ evidence: StageFinding.Evidence, _ address: String)
    -> NetworkStages
  {
    NetworkStages { stage in
      if stage == failing { return StageFinding(evidence, .ip(address)) }
      return StageFinding(stage == .link ? .running : stage == .address ? .configured : .notProbed, .ip("10.0.0.1"))
    }
  }

  static let situations = [
    Situation(testDescription: "wired") {
      kernel(
        [
          .link(2, "eth0"), .address(2, .ip("10.0.0.1")), .address(2, .ip("2001:db8:1::1"), 64),
          .link(3, "wlan0", .down),
        ],
        ScriptedKernel.over(2), .via(2, .ip("fe80::1"), from: .ip("2001:db8:1::1")))
    },
    Situation(testDescription: "WiFi", kernel: onWiFi),
    Situation(testDescription: "phone") {
      kernel(
        [.link(4, "wwan0", .unknown, kind: "wwan", hardwareType: 65534), .address(4, .ip("10.2.0.1"))],
        ScriptedKernel.over(4))
    },
    Situation(testDescription: "VPN") { ScriptedKernel.wgQuick() },
    Situation(testDescription: "VPN-with-a-dead-uplink") {
      var kernel = ScriptedKernel.wgQuick()
      kernel.facts =
        [.loopback, .link(2, "eth0", .noCarrier), .address(2, .ip("10.0.0.1"))] + ScriptedKernel.tunnel(10, "wg0")
      return kernel
    },
    Situation(testDescription: "VPN-for-IPv4-on-an-unknown-link") {
      let straight = RouteAnswer.via(2, .ip("fe80::1"), from: .ip("2001:db8:1::1"))
      return kernel(ScriptedKernel.uplinks + ScriptedKernel.tunnel(10, "wg0"), ScriptedKernel.into(10), straight)
    },
    Situation(testDescription: "VPN-for-IPv6-on-an-unknown-link") {
      let into = ScriptedKernel.into(10, .ipv6)
      return kernel(ScriptedKernel.uplinks + ScriptedKernel.tunnel(10, "wg0"), ScriptedKernel.over(2), into)
    },
    Situation(
      testDescription: "portal", kernel: onWiFi,
      found: {
        $0.internet = .portal
        $0.portalURL = PortalURL("http://10.1.0.254/login")
      }),
    Situation(testDescription: "cable-out") { kernel([.link(2, "eth0", .noCarrier), .link(3, "wlan0", .down)]) },
    Situation(testDescription: "only-cable-out") { kernel([.link(2, "eth0", .noCarrier)]) },
    Situation(testDescription: "no-address") { kernel([.link(2, "eth0")]) },
    Situation(
      testDescription: "router-dead",
      kernel: { kernel([.link(2, "eth0"), .address(2, .ip("10.0.0.1"))], ScriptedKernel.over(2)) },
      found: { $0.stages = stages(.gateway, .neighbourFailed, "10.0.0.254") }),
    Situation(testDescription: "switched-off") { kernel([.link(2, "eth0", .down), .link(3, "wlan0", .down)]) },
    Situation(testDescription: "container") {
      kernel(
        [.link(2, "eth0", kind: "veth"), .address(2, .ip("172.17.0.2"), 16)],
        .via(2, .ip("172.17.0.1"), from: .ip("172.17.0.2")))
    },
    Situation(testDescription: "IPv6-only") {
      kernel(
        [.link(2, "eth0"), .address(2, .ip("2001:db8:1::1"), 64)], nil,
        .via(2, .ip("fe80::1"), from: .ip("2001:db8:1::1")))
    },
  ]

  @Test(arguments: situations) func `netwatch without arguments answers in sentences`(_ situation: Situation) throws {
    var kernel = situation.kernel()
    kernel.start()
    let path = try #require(kernel.published.last)
    var record = EventRecord(
      sequence: 1, nanosecondsSince1970: 0, monotonicNanoseconds: 0, event: .initial, path: path)
    record.listsInterfaces = true
    situation.found(&record)
    let output = unsafe open("/dev/null", O_WRONLY | O_CLOEXEC)
    defer { close(output) }
    let renderer = TextRenderer(
      terminal: Terminal(descriptor: output, color: .never, locale: "C.UTF-8"), snapshot: .init(target: .internet))
    let text = renderer.text(record)
    let file = Self.folder.appending(path: "\(situation.testDescription).txt")
    if Self.isUpdating { try Data(text.utf8).write(to: file) }
    #expect(text == (try String(contentsOf: file, encoding: .utf8)))
  }
}
