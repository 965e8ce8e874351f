import Netwatch
import NetwatchTestSupport
import Testing

/// Changes of tunnels and of the links that carry them.
@Suite struct TunnelChangeTests {
  typealias Kernel = ScriptedKernel

  // MARK: The link beneath

  @Test func `the carrier beneath a live tunnel dies, and comes back`() {
    for make in [Kernel.wgQuick, Kernel.openVPN] {
      var kernel = make(.init())
      kernel.answers[.beneath(.ipv4, .link(3))] = nil
      kernel.start()
      kernel.tell(.link(2, "eth0", .noCarrier))
      #expect(kernel.story.last == "not-reachable no_carrier -")
      kernel.tell(.link(2, "eth0"))
      #expect(kernel.story == ["wifi initial eth0", "not-reachable no_carrier -", "wifi route_up eth0"])
      #expect(kernel.published.last?.vpn?.interfaceIndex == 10)
    }
  }

  @Test func `a carrier that is dead at the start`() {
    var kernel = Kernel.openVPN()
    // The kernel still leads packets over the dead link, so the reason names what is wrong with this link.
    kernel.facts.append(.link(2, "eth0", .noCarrier))
    kernel.answers[.beneath(.ipv4, .link(3))] = nil
    kernel.start()
    #expect(kernel.story == ["not-reachable no_carrier -"])
    kernel = Kernel.wgQuick()
    kernel.facts.append(.link(2, "eth0", .noCarrier))
    kernel.start()
    #expect(kernel.story == ["not-reachable no_carrier -"])
  }

  @Test func `another link takes over beneath`() {
    var kernel = Kernel.wgQuick()
    kernel.start()
    kernel.answers[.beneath(.ipv4, .marked(51820))] = Kernel.over(4)
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story == ["wifi initial eth0", "wwan medium_changed wwan0"])
    #expect(kernel.published.last?.isExpensive == true)
    #expect(kernel.published.last?.vpn?.interfaceName == "wg0")
    kernel.answers[.beneath(.ipv4, .marked(51820))] = Kernel.over(2)
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story.last == "wifi medium_changed eth0")
    #expect(kernel.published.last?.isExpensive == false)
  }

  @Test func `the way beneath is lost`() {
    var kernel = Kernel.wgQuick()
    kernel.start()
    kernel.answers[.beneath(.ipv4, .marked(51820))] = .noRoute
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story.last == "not-reachable vpn_without_underlay -")
    kernel.answers[.beneath(.ipv4, .marked(51820))] = .refused
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.published.count == 2)
  }

  // MARK: Reasons

  @Test func `a tunnel comes, another one takes over, both go`() {
    var kernel = Kernel.openVPN()
    kernel.answers[.ipv4] = Kernel.over(2)
    kernel.start()
    kernel.answers[.ipv4] = Kernel.into(10)
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story.last == "wifi vpn_up eth0")
    for fact in Kernel.tunnel(11, "wg0") { kernel.tell(fact) }
    kernel.answers[.ipv4] = Kernel.into(11)
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story.last == "wifi vpn_up eth0")
    #expect(kernel.published.last?.vpn?.kind == .wireguard)
    kernel.answers[.ipv4] = Kernel.over(3)
    kernel.tell(.linkRemoved(index: 11))
    #expect(kernel.story.last == "wifi vpn_down wlan0")
    #expect(kernel.published.last?.vpn == nil)
  }

  @Test func `a tunnel that is renamed is the same one`() {
    var kernel = Kernel.openVPN()
    kernel.start()
    kernel.tell(.link(10, "tun7", .unknown, kind: "tun", hardwareType: 65534))
    #expect(kernel.story.last == "wifi interface_changed eth0")
    #expect(kernel.published.last?.vpn?.interfaceName == "tun7")
  }

  struct Loss: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let events: [NetworkEvent]
    var answer: RouteAnswer? = nil
    let reason: ReachabilityReason
  }

  /// Only the tunnel leads out.
  @Test(arguments: [
    Loss(
      testDescription: "tunnel switched off", events: [.link(10, "tun0", .down, kind: "tun", hardwareType: 65534)],
      answer: .noRoute, reason: .linkDown),
    Loss(testDescription: "tunnel deleted", events: [.linkRemoved(index: 10)], answer: .noRoute, reason: .linkDown),
    Loss(
      testDescription: "tunnel without its program",
      events: [.link(10, "tun0", .noCarrier, kind: "tun", hardwareType: 65534)], reason: .noCarrier),
    Loss(
      testDescription: "tunnel's address", events: [.noAddress(10, .ip("10.8.10.2"))], answer: .noRoute,
      reason: .noAddress),
    Loss(
      testDescription: "its route", events: [.routing(.ipv4, isRemoval: true)], answer: .noRoute, reason: .noRoute),
    Loss(testDescription: "carrier deleted", events: [.linkRemoved(index: 2)], reason: .linkDown),
    Loss(testDescription: "carrier switched off", events: [.link(2, "eth0", .down)], reason: .linkDown),
    Loss(testDescription: "carrier dormant", events: [.link(2, "eth0", .dormant)], reason: .dormant),
    Loss(
      testDescription: "carrier's addresses",
      events: [.noAddress(2, .ip("10.0.0.1")), .noAddress(2, .ip("2001:db8:1::1"), 64)],
      reason: .noAddress),
    Loss(
      testDescription: "carrier and tunnel", events: [.linkRemoved(index: 10), .link(2, "eth0", .noCarrier)],
      answer: .noRoute, reason: .noCarrier),
  ])
  func `the reason of a loss names what took the tunnel's path away`(_ loss: Loss) {
    var kernel = Kernel.openVPN()
    kernel.answers[.beneath(.ipv4, .link(3))] = nil
    // No other link could carry the tunnel.
    kernel.facts += [.link(3, "wlan0", .down), .link(4, "wwan0", .down, kind: "wwan", hardwareType: 65534)]
    kernel.start()
    kernel.forget()
    if let answer = loss.answer { kernel.answers[.ipv4] = answer }
    for event in loss.events { kernel.handle(.fact(event)) }
    kernel.handle(.drained)
    #expect(kernel.story == ["not-reachable \(loss.reason.rawValue) -"])
  }

  // MARK: The other family

  /// Returns a kernel that is asked only for IPv6. The tunnel that leads there is carried by IPv4.
  static func sixOverFour() -> Kernel {
    var configuration = MonitorConfiguration()
    configuration.target = .address(.ip("2001:db8:77::1"), port: nil)
    var kernel = Kernel.wgQuick(configuration)
    kernel.start()
    return kernel
  }

  @Test func `a target of one family follows the routes of the other, which carries it`() {
    var kernel = Self.sixOverFour()
    #expect(kernel.story == ["wifi initial eth0"])
    #expect(kernel.published.last?.ipv4 == nil)
    kernel.answers[.beneath(.ipv4, .marked(51820))] = Kernel.over(3)
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story.last == "wifi medium_changed wlan0")
    kernel.answers[.beneath(.ipv4, .marked(51820))] = Kernel.over(2)
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.story.last == "not-reachable no_carrier -")
  }

  @Test func `what is told early of the other family is asked for again`() {
    var kernel = Self.sixOverFour()
    kernel.onSettle = { $0.answers[.beneath(.ipv4, .marked(51820))] = .noRoute }
    kernel.tell(.routing(.ipv4, isRemoval: true))
    #expect(kernel.story.last == "not-reachable vpn_without_underlay -")
  }

  // MARK: Changes that are announced early

  @Test func `a way beneath over a link that is being switched off is asked for again`() {
    // Both families change with the link, so no answer that stays the same raises a doubt.
    var kernel = Kernel.wgQuick()
    kernel.start()
    kernel.onSettle = { $0.answers[.beneath(.ipv4, .marked(51820))] = Kernel.over(3) }
    kernel.tell(.link(2, "eth0", .down))
    #expect(kernel.story == ["wifi initial eth0", "wifi medium_changed wlan0"])
  }

  @Test func `the same after a listing`() {
    var kernel = Kernel.wgQuick()
    kernel.start()
    kernel.facts.append(.link(2, "eth0", .down))
    kernel.onSettle = { $0.answers[.beneath(.ipv4, .marked(51820))] = Kernel.over(3) }
    kernel.handle(.overrun)
    kernel.handle(.drained)
    #expect(kernel.story == ["wifi initial eth0", "wifi resynced wlan0"])
  }
}
