import NetwatchTestSupport
import Testing

@testable import Netwatch

/// What `print` shows of public values.
@Suite struct DescriptionTests {
  private static func path(
    _ status: ReachabilityStatus, _ reason: ReachabilityReason = .initial,
    _ change: (inout NetworkPath.Verdict) -> Void = { _ in }
  ) -> NetworkPath {
    var verdict = NetworkPath.Verdict(status: status)
    if status.isReachable {
      verdict.medium = status == .wwan ? .wwan : .wired
      verdict.interfaceName = InterfaceName("eth0")
      verdict.interfaceIndex = 2
      verdict.ipv4 = .init(
        address: .ip("10.0.0.2"), gateway: .ip("10.0.0.254"), interfaceIndex: 2, kernelName: InterfaceName("eth0"))
    }
    change(&verdict)
    var connection = WiFiConnection()
    connection.signal = WiFiSignal(dBm: -60)
    return NetworkPath(verdict: verdict, reason: reason, interfaces: [], connection: connection)
  }

  private static func tunnel(isCarrierKnown: Bool = true) -> VPN {
    VPN(
      kernelName: InterfaceName("tun0"), interfaceIndex: 9, kind: .tun, isCarrierKnown: isCarrierKnown,
      families: [.ipv4])
  }

  @Test func `a path is what a person would say`() {
    #expect("\(Self.path(.wifi))" == "wired eth0, 10.0.0.2")
    #expect("\(Self.path(.wifi) { $0.vpn = Self.tunnel() })" == "wired eth0, 10.0.0.2; via VPN tun0")
    #expect("\(Self.path(.notReachable, .noCarrier))" == "not reachable: no carrier")
    #expect("\(Self.path(.unknown, .unresolved))" == "unknown: unresolved")
    let both = Self.path(.wifi) {
      $0.ipv6 = .init(address: .ip("2001:db8::2"), gateway: nil, interfaceIndex: 2)
      $0.cost.expense = .rule
    }
    #expect("\(both)" == "wired eth0, 10.0.0.2, 2001:db8::2; may cost money")
    let wifi = Self.path(.wifi) {
      $0.medium = .wifi
      $0.ssid = SSID("home".utf8)
    }
    #expect("\(wifi)" == "wifi eth0 (“home”), 10.0.0.2")
    let vague = Self.path(.wifi) {
      $0.medium = .other
      $0.interfaceName = InterfaceName("tun0")
      $0.vpn = Self.tunnel(isCarrierKnown: false)
    }
    #expect("\(vague)" == "over an unknown link, 10.0.0.2; via VPN tun0")
  }

  @Test func `the debug form names the public properties and no private box`() {
    let path = Self.path(.wifi) { $0.vpn = Self.tunnel() }
    #expect(
      String(reflecting: path) == """
        NetworkPath(status: wifi, reason: initial, medium: wired, interface: eth0, ipv4: 10.0.0.2 via 10.0.0.254 over eth0, \
        ipv6: nil, vpn: VPN tun0, wifi: nil, expense: nil, isConstrained: false, interfaces: [])
        """)
    var found = path
    found.findings.internet = .portal
    found.findings.lost = .init(kernelName: InterfaceName("wlan0"), medium: .wifi, ssid: SSID("home".utf8))
    #expect(String(reflecting: found).contains("internet: portal, lost: wifi wlan0 (“home”), interfaces: []"))
    #expect("\(found)".hasSuffix("; behind a login page (captive portal)"))
    var kernel = ScriptedKernel.wgQuick()
    kernel.start()
    for value in kernel.published as [Any] + kernel.published.flatMap(\.interfaces) as [Any] {
      for text in ["\(value)", String(reflecting: value)] {
        #expect(!text.contains("unknown context") && !text.contains("InterfaceName("), "\(text)")
      }
    }
  }

  @Test func `conditions print as the command has them`() throws {
    let network = try #require(NetworkIdentity("852628548a033a7e"))
    let conditions: [NetworkCondition] = [
      .reachable, .notReachable, .wifi, .wwan, .medium(.wired), .medium(.bluetooth), .unmetered, .vpn, .notVPN,
      .internet,
      .network(network), .stage(.dns),
    ]
    #expect(
      conditions.map(\.description) == [
        "reachable", "not-reachable", "wifi", "wwan", "wired", "medium=bluetooth", "unmetered", "vpn", "not-vpn",
        "internet",
        "network=852628548a033a7e", "stage=dns",
      ])
  }

  @Test func `the parts of a path print themselves`() throws {
    let path = Self.path(.wifi) { $0.ssid = SSID("home".utf8) }
    #expect("\(try #require(path.ipv4))" == "10.0.0.2 via 10.0.0.254 over eth0")
    #expect("\(try #require(path.wifi))" == "“home”, -60 dBm (80 %)")
    var kernel = ScriptedKernel.wgQuick()
    kernel.start()
    let links = try #require(kernel.published.last).interfaces
    #expect("\(try #require(links.first { $0.name == "eth0" }))" == "wired eth0, 10.0.0.1/24, 2001:db8:1::1/64")
    kernel.tell(.link(2, "eth0", .noCarrier))
    let dead = try #require(kernel.published.last?.interfaces.first { $0.name == "eth0" })
    #expect("\(dead)" == "wired eth0, no carrier, 10.0.0.1/24, 2001:db8:1::1/64")
  }

  @Test func `a name that a stranger has chosen does not control the terminal`() {
    let path = Self.path(.wifi) {
      $0.interfaceName = InterfaceName("a\u{1b}[31m")
      $0.ssid = SSID("b\u{1b}]0;".utf8)
    }
    for text in ["\(path)", String(reflecting: path)] { #expect(!text.contains("\u{1b}"), "\(text)") }
  }

  @Test func `figures and stages print with their units`() {
    var traffic = LinkTraffic(kernelName: InterfaceName("eth0"), interfaceIndex: 2, receivedBytes: 1, sentBytes: 2)
    #expect("\(traffic)" == "eth0: ? received, ? sent")
    (traffic.receivedBitsPerSecond, traffic.sentBitsPerSecond) = (1_200, 300)
    #expect("\(traffic)" == "eth0: 1200 b/s received, 300 b/s sent")
    let quality = LinkQuality(
      kernelName: InterfaceName("eth0"), interfaceIndex: 2, connections: 3, tenthsOfMilliseconds: 123,
      tenthsOfPercent: 5)
    #expect("\(quality)" == "eth0: 12.3 ms, 0.5 % lost")
    let unknown = LinkQuality(kernelName: InterfaceName("eth0"), interfaceIndex: 2, connections: 1)
    #expect("\(unknown)" == "eth0: ? ms, ? % lost")
    let dead = StageFinding(.neighbourFailed, .ip("10.0.0.254"))
    let stages = NetworkStages { $0 == .gateway ? dead : StageFinding(.running) }
    #expect("\(stages)" == "link ok, address ok, gateway failed, dns ok, internet ok")
    #expect("\(stages.gateway)" == "failed (neighbour failed 10.0.0.254)")
  }
}
