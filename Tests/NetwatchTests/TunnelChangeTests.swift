import Netwatch
import NetwatchTestSupport
import Testing

/// What happens to tunnels and to what carries them.
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
    kernel.facts.append(.link(2, "eth0", .noCarrier))
    kernel.answers[.beneath(.ipv4, .link(3))] = nil
    kernel.start()
    #expect(kernel.story == ["not-reachable vpn_without_underlay -"])
    kernel = Kernel.wgQuick()
    // The kernel still leads the tunnel's packets there, so the fault has a name.
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

  // MARK: Why

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

  /// Nothing but the tunnel leads out.
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
      testDescription: "tunnel's route", events: [.routing(.ipv4, isRemoval: true)], answer: .noRoute, reason: .noRoute),
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
  func `what took the path away`(_ loss: Loss) {
    var kernel = Kernel.openVPN()
    kernel.answers[.beneath(.ipv4, .link(3))] = nil
    kernel.start()
    kernel.forget()
    if let answer = loss.answer { kernel.answers[.ipv4] = answer }
    for event in loss.events { kernel.handle(.fact(event)) }
    kernel.handle(.drained)
    #expect(kernel.story == ["not-reachable \(loss.reason.rawValue) -"])
  }

  // MARK: The other family

  /// Only IPv6 is asked for; the tunnel that leads there is carried by IPv4.
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

  // MARK: Told early

  @Test func `a way beneath over a link that is being switched off is asked for again`() {
    // Both families change with it, so that nothing that stays the same raises a doubt.
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

  // MARK: Which routes are watched

  @Test func `the other ends of tunnels are watched as long as there are any`() {
    var kernel = Kernel.online()
    #expect(kernel.machine.watched == [.ip("192.0.2.1"), .ip("2001:db8::1")])
    #expect(kernel.count(of: .watch) == 0)
    kernel.tell(.link(10, "t0", .down, kind: "gre", remote: .ip("198.51.100.7")))
    #expect(kernel.count(of: .watch) == 1)
    #expect(kernel.machine.watched.last == .ip("198.51.100.7"))
    kernel.tell(.link(10, "t0", .unknown, kind: "gre", remote: .ip("198.51.100.7")))
    #expect(kernel.count(of: .watch) == 1)
    kernel.tell(.link(10, "t0", .unknown, kind: "gre", remote: .ip("198.51.100.8")))
    #expect(kernel.count(of: .watch) == 2)
    kernel.tell(.linkRemoved(index: 10))
    #expect(kernel.count(of: .watch) == 3)
    #expect(kernel.machine.watched.count == 2)
  }

  @Test func `an other end that only reading the link has told is watched before it is asked about`() throws {
    var kernel = Kernel.openVPN()
    kernel.facts = Kernel.uplinks + Kernel.tunnel(10, "t0", kind: "vxlan", lower: 2)
    kernel.start()
    kernel.forget()
    kernel.links[10] = .link(
      10, "t0", .unknown, kind: "vxlan", hardwareType: 65534, lower: 2, remote: .ip("198.51.100.7"))
    kernel.tell(.link(2, "eth0", .unknown))
    let watch = try #require(kernel.effects.firstIndex(of: .watch))
    let question = try #require(kernel.effects.firstIndex(of: .lookUp(.beneath(.ipv4, .remote(tunnel: 10)))))
    #expect(watch < question)
  }

  @Test func `a listing without a tunnel that had another end`() {
    var kernel = Kernel.online()
    kernel.tell(.link(10, "t0", .unknown, kind: "gre", remote: .ip("198.51.100.7")))
    kernel.forget()
    kernel.handle(.overrun)
    kernel.handle(.drained)
    #expect(kernel.count(of: .watch) == 1)
  }

  // MARK: Which links count

  @Test func `the filter is about the links that routes lead to, not about what lies beneath`() {
    func story(_ names: Set<String>) -> String {
      var configuration = MonitorConfiguration()
      configuration.includesInterface = { names.contains($0) }
      var kernel = Kernel.openVPN(configuration)
      kernel.answers[RouteRequest(.ipv4, .link(2))] = Kernel.route(over: 2, metric: 100)
      kernel.answers[RouteRequest(.ipv4, .link(10))] = .via(10, nil, from: nil)
      kernel.start()
      return kernel.carrier
    }
    // -i tun0, and --ignore eth0.
    #expect(story(["tun0"]) == "eth0 tun0 wired")
    #expect(story(["tun0", "wlan0", "wwan0"]) == "eth0 tun0 wired")
    // --ignore tun0: the way past it.
    #expect(story(["eth0", "wlan0", "wwan0"]) == "eth0 * wired")
    #expect(story(["wwan0"]) == "* * *")
  }

  @Test func `a second tunnel may be all that counts`() {
    var configuration = MonitorConfiguration()
    configuration.includesInterface = { $0 == "wg0" }
    var kernel = Kernel.openVPN(configuration)
    kernel.facts += Kernel.tunnel(11, "wg0")
    kernel.answers[RouteRequest(.ipv4, .link(11))] = .via(11, nil, from: nil, metric: 900)
    kernel.start()
    #expect(kernel.carrier == "eth0 wg0 wired")
  }

  // MARK: What it costs

  @Test func `an unrelated fact asks nothing, with a tunnel too`() {
    var kernel = Kernel.wgQuick()
    kernel.start()
    kernel.forget()
    kernel.tell(.link(2, "eth0"), .address(2, .ip("10.0.0.1")))
    #expect(kernel.effects.isEmpty)
  }

  @Test func `ports of bridges lead nowhere by themselves, and are not asked`() {
    var kernel = Kernel.openVPN()
    kernel.facts += [.link(20, "br0", kind: "bridge"), .link(40, "vrf0", kind: "vrf")]
    kernel.facts += [.link(21, "veth1", kind: "veth", master: 20), .link(41, "eth9", master: 40)]
    kernel.start()
    let links = kernel.lookUps.compactMap { if case .link(let index) = $0.scope { index } else { nil } }
    #expect(!links.contains(21))
    #expect(links.contains(41))
  }
}
