import Netwatch
import NetwatchStream
import NetwatchTestSupport
import Testing

@testable import NetwatchCLI

/// What each condition says of each network; what is not known does not hold.
@Suite struct ConditionTests {
  private static func holding(_ path: NetworkPath) -> Set<String> {
    Set(Condition.simple.filter { $0.condition.holds(for: path, in: { nil }) }.map(\.name))
  }

  private static func path(_ status: ReachabilityStatus, _ change: (inout NetworkPath.Verdict) -> Void = { _ in })
    -> NetworkPath
  {
    let path = EventRecord.example(status).path
    var verdict = path.verdict
    change(&verdict)
    return NetworkPath(verdict: verdict, reason: path.reason, interfaces: InterfaceTable())
  }

  @Test func `conditions of one word`() {
    #expect(Self.holding(Self.path(.wifi)) == ["reachable", "wifi", "unmetered", "not-vpn"])
    #expect(Self.holding(Self.path(.wwan)) == ["reachable", "wwan", "not-vpn"])
    #expect(Self.holding(Self.path(.notReachable)) == ["not-reachable"])
    #expect(Self.holding(Self.path(.unknown)) == [])
    let tunnel = VPN(kernelName: InterfaceName("wg0"), interfaceIndex: 9, kind: .wireguard)
    #expect(Self.holding(Self.path(.wifi) { $0.vpn = tunnel }) == ["reachable", "wifi", "unmetered"])
    // Whether what carries the tunnel costs money is not known.
    let vague = VPN(kernelName: InterfaceName("tun0"), interfaceIndex: 9, kind: .tun, isCarrierKnown: false)
    #expect(Self.holding(Self.path(.wifi) { $0.vpn = vague }) == ["reachable", "wifi"])
    #expect(Self.holding(Self.path(.wifi) { $0.isExpensive = true }) == ["reachable", "wifi", "not-vpn"])
  }

  @Test func `an SSID holds to the byte`() throws {
    let names = ["home", "Home", "home\0", "hom", "", "Café", "Cafe\u{301}", "a=b"]
    for wanted in names.compactMap({ SSID($0.utf8) }) {
      for name in names {
        let path = EventRecord.example(.wifi, ssid: name).path
        #expect(Condition.ssid(wanted).holds(for: path, in: { nil }) == (wanted.bytes == Array(name.utf8)))
      }
      for status in [ReachabilityStatus.wwan, .notReachable, .unknown] {
        #expect(!Condition.ssid(wanted).holds(for: Self.path(status), in: { nil }))
      }
    }
  }

  @Test func `a network holds only while its ID is known`() throws {
    let network = try #require(NetworkIdentity("852628548a033a7e"))
    let other = try #require(NetworkIdentity("852628548a033a7f"))
    let condition = Condition.network(network)
    #expect(condition.holds(for: Self.path(.wifi), in: { network }))
    #expect(!condition.holds(for: Self.path(.wifi), in: { other }))
    #expect(!condition.holds(for: Self.path(.wifi), in: { nil }))
    #expect(!condition.holds(for: Self.path(.notReachable), in: { network }))
  }

  @Test func `all conditions have to hold, and the internet answers if it was probed`() {
    var record = EventRecord.example(.wifi)
    #expect([Condition]().hold(for: record, in: nil))
    #expect([Condition.unmetered, .notVPN].hold(for: record, in: nil))
    #expect(![Condition.unmetered, .wwan].hold(for: record, in: nil))
    for internet in [InternetAccess.portal, .absent, .unknown] {
      record.internet = internet
      #expect(![Condition.unmetered].hold(for: record, in: nil))
      #expect(![Condition]().hold(for: record, in: nil))
    }
    record.internet = .full
    #expect([Condition.unmetered].hold(for: record, in: nil))
    #expect(![Condition]().hold(for: .example(.notReachable), in: nil))
  }
}
