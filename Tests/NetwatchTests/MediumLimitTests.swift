import NetwatchTestSupport
import Testing

@testable import Netwatch

/// The kinds of links that have to carry the traffic, or must not.
@Suite struct MediumLimitTests {
  /// The kernel prefers eth0; wlan0, wwan0 and eth1 have routes of their own.
  private static func path(_ change: (inout MonitorConfiguration) -> Void) -> String {
    var configuration = MonitorConfiguration()
    change(&configuration)
    let names = InterfaceFilterTests.kernel([], start: false)
    var kernel = ScriptedKernel(configuration)
    (kernel.facts, kernel.answers) = (names.facts, names.answers)
    kernel.start()
    return kernel.carrier
  }

  @Test(arguments: [
    (Medium.wired, "eth0 * wired"), (.wifi, "wlan0 * wifi"), (.wwan, "wwan0 * wwan"), (.bluetooth, "* * *"),
  ])
  func `only links of the required kind count`(_ medium: Medium, _ carrier: String) {
    #expect(Self.path { $0.requiredMedium = medium } == carrier)
  }

  @Test(
    arguments: [
      ([Medium.wired], "wlan0 * wifi"), ([.wifi], "eth0 * wired"), ([.wired, .wifi], "wwan0 * wwan"),
      ([.wired, .wifi, .wwan], "* * *"),
    ] as [(Set<Medium>, String)])
  func `links of a prohibited kind do not count`(_ media: Set<Medium>, _ carrier: String) {
    #expect(Self.path { $0.prohibitedMedia = media } == carrier)
  }

  @Test func `a required kind that is also prohibited leaves nothing`() {
    #expect(
      Self.path {
        $0.requiredMedium = .wired
        $0.prohibitedMedia = [.wired]
      } == "* * *")
  }

  @Test func `names and kinds both have to fit`() {
    #expect(
      Self.path {
        $0.requiredMedium = .wwan
        $0.includesInterface = { $0 != "wwan0" }
      } == "* * *")
  }

  /// A VPN over eth0, beside which there is a way over eth0 itself.
  private static func vpn(_ change: (inout MonitorConfiguration) -> Void) -> String {
    var configuration = MonitorConfiguration()
    change(&configuration)
    var kernel = ScriptedKernel.openVPN(configuration)
    kernel.answers[RouteRequest(.ipv4, .link(2))] = ScriptedKernel.route(over: 2, metric: 100)
    kernel.answers[RouteRequest(.ipv4, .link(10))] = .via(10, nil, from: nil)
    kernel.start()
    return kernel.carrier
  }

  @Test func `a tunnel counts if a link of a kind that counts carries it`() {
    #expect(Self.vpn { $0.requiredMedium = .wired } == "eth0 tun0 wired")
    #expect(Self.vpn { $0.prohibitedMedia = [.wwan] } == "eth0 tun0 wired")
    #expect(Self.vpn { $0.requiredMedium = .wwan } == "* * *")
    #expect(Self.vpn { $0.prohibitedMedia = [.wired] } == "* * *")
  }
}
