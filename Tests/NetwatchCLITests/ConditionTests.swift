import Netwatch
import NetwatchLines
import NetwatchStream
import NetwatchTestSupport
import Testing

@testable import NetwatchCLI

/// Which conditions hold in which network. A condition about something unknown does not hold.
@Suite struct ConditionTests {
  private static func holding(_ record: EventRecord) -> Set<String> {
    Set(NetworkCondition.simple.filter { $0.holds(for: record, in: { nil }) }.map(\.description))
  }

  private static func record(_ status: ReachabilityStatus, _ change: (inout NetworkPath.Verdict) -> Void = { _ in })
    -> EventRecord
  {
    var record = EventRecord.example(status)
    var verdict = record.path.verdict
    change(&verdict)
    record.path = NetworkPath(verdict: verdict, reason: record.path.reason, interfaces: InterfaceTable())
    return record
  }

  @Test func `each state fulfils the right conditions of one word`() {
    #expect(Self.holding(Self.record(.wifi)) == ["reachable", "wifi", "unmetered", "not-vpn"])
    #expect(Self.holding(Self.record(.wwan)) == ["reachable", "wwan", "not-vpn"])
    #expect(Self.holding(Self.record(.notReachable)) == ["not-reachable"])
    #expect(Self.holding(Self.record(.unknown)) == [])
    let tunnel = VPN(kernelName: InterfaceName("wg0"), interfaceIndex: 9, kind: .wireguard, families: [.ipv4])
    #expect(Self.holding(Self.record(.wifi) { $0.vpn = tunnel }) == ["reachable", "wifi", "unmetered", "vpn"])
    // It is not known whether the link that carries the tunnel costs money.
    let vague = VPN(
      kernelName: InterfaceName("tun0"), interfaceIndex: 9, kind: .tun, isCarrierKnown: false, families: [.ipv4])
    #expect(Self.holding(Self.record(.wifi) { $0.vpn = vague }) == ["reachable", "wifi", "vpn"])
    #expect(!NetworkCondition.medium(.wifi).holds(for: Self.record(.wifi) { $0.vpn = vague }, in: { nil }))
    #expect(Self.holding(Self.record(.wifi) { $0.cost.expense = .modem }) == ["reachable", "wifi", "not-vpn"])
  }

  @Test(
    arguments: [
      ("wlan", "did you mean wifi?"), ("LAN", "did you mean wired?"), ("cellular", "did you mean wwan?"),
      ("offline", "did you mean not-reachable?"), ("medium=wlan", "did you mean medium=wifi?"),
      ("medium=ethernet", "did you mean medium=wired?"), ("uplink=mobile", "did you mean uplink=wwan?"),
      ("stage=DNS", "did you mean stage=dns?"),
      ("stage=x", "the possible values are stage=link, stage=address, stage=gateway, stage=dns, stage=internet."),
    ])
  func `another program's word for a condition is understood`(_ text: String, _ advice: String) {
    #expect { try NetworkCondition.named(text) } throws: { ($0 as? PlainError)?.description == advice }
  }

  @Test(arguments: Medium.allCases)
  func `a medium is that of the interface that carries the traffic`(medium: Medium) throws {
    let condition = try NetworkCondition.named("medium=\(medium.rawValue)")
    for other in Medium.allCases {
      let record = Self.record(other == .wwan ? .wwan : .wifi) { $0.medium = other }
      #expect(condition.holds(for: record, in: { nil }) == (other == medium))
      #expect((condition.refutation(for: record, in: { nil }) == nil) == (other == medium))
      if medium == .wired {
        #expect(try NetworkCondition.named("wired").holds(for: record, in: { nil }) == (other == medium))
      }
    }
    #expect(!condition.holds(for: Self.record(.notReachable), in: { nil }))
  }

  @Test func `the internet has to have answered`() {
    var record = EventRecord.example(.wifi)
    for (internet, why) in [
      (nil, "no server was asked"), (.portal, "behind a login page (captive portal)"), (.absent, "no internet"),
      (.unknown, "internet: unknown"), (.full, nil),
    ] as [(InternetAccess?, String?)] {
      record.internet = internet
      #expect(
        NetworkCondition.internet.refutation(for: record, in: { nil }) == why.map { "internet does not hold: \($0)" })
    }
  }

  @Test func `an SSID holds to the byte`() throws {
    let names = ["home", "Home", "home\0", "hom", "", "Café", "Cafe\u{301}", "a=b"]
    for wanted in names.compactMap({ SSID($0.utf8) }) {
      for name in names {
        let record = EventRecord.example(.wifi, ssid: name)
        #expect(NetworkCondition.ssid(wanted).holds(for: record, in: { nil }) == (wanted.bytes == Array(name.utf8)))
      }
      for status in [ReachabilityStatus.wwan, .notReachable, .unknown] {
        #expect(!NetworkCondition.ssid(wanted).holds(for: Self.record(status), in: { nil }))
      }
    }
  }

  @Test func `a network holds only while its ID is known`() throws {
    let network = try #require(NetworkIdentity("852628548a033a7e"))
    let other = try #require(NetworkIdentity("852628548a033a7f"))
    let condition = NetworkCondition.network(network)
    #expect(condition.holds(for: Self.record(.wifi), in: { network }))
    #expect(!condition.holds(for: Self.record(.wifi), in: { other }))
    #expect(!condition.holds(for: Self.record(.wifi), in: { nil }))
    #expect(!condition.holds(for: Self.record(.notReachable), in: { network }))
  }

  @Test func `a stage holds only while it is known to work`() {
    var record = EventRecord.example(.wifi)
    for stage in NetworkStage.allCases {
      record.stages = nil
      #expect(!NetworkCondition.stage(stage).holds(for: record, in: { nil }))
      for (evidence, holds) in [(.running, true), (.noCarrier, false), (.notExamined, false)]
        as [(StageFinding.Evidence, Bool)]
      {
        record.stages = NetworkStages { $0 == stage ? StageFinding(evidence) : StageFinding(.notExamined) }
        #expect(NetworkCondition.stage(stage).holds(for: record, in: { nil }) == holds)
      }
    }
  }

  @Test func `all conditions have to hold, and the internet answers if it was probed`() {
    var record = EventRecord.example(.wifi)
    #expect([NetworkCondition]().hold(for: record, in: nil))
    #expect([NetworkCondition.unmetered, .notVPN].hold(for: record, in: nil))
    #expect(![NetworkCondition.unmetered, .wwan].hold(for: record, in: nil))
    for internet in [InternetAccess.portal, .absent, .unknown] {
      record.internet = internet
      #expect(![NetworkCondition.unmetered].hold(for: record, in: nil))
      #expect(![NetworkCondition]().hold(for: record, in: nil))
    }
    record.internet = .full
    #expect([NetworkCondition.unmetered].hold(for: record, in: nil))
    #expect(![NetworkCondition]().hold(for: .example(.notReachable), in: nil))
  }
}
