import Netwatch
import NetwatchTestSupport
import Testing

/// What lies beneath a tunnel, in the setups that people have.
@Suite struct UnderlayTests {
  typealias Kernel = ScriptedKernel

  // MARK: Kinds

  struct Kind: CustomTestStringConvertible, Sendable {
    var testDescription: String { "\(kind ?? "-") \(hardwareType)" }
    let kind: String?
    var hardwareType: UInt16 = 1
    var tunnel: TunnelKind? = nil
  }

  static let kinds: [Kind] =
    TunnelKind.allCases.filter { $0 != .other }.map { Kind(kind: $0.rawValue, tunnel: $0) }
    // If the kernel cannot name the kind of a link yet, its hardware type decides: ARPHRD_NONE, TUNNEL, TUNNEL6, SIT,
    // IPGRE, IP6GRE.
    + [0xfffe, 768, 769, 776, 778, 823].map { Kind(kind: nil, hardwareType: $0, tunnel: .other) }
    + ["ovpn-dco", "amneziawg"].map { Kind(kind: $0, hardwareType: 0xfffe, tunnel: .other) }
    + [nil, "veth", "netkit"].map { Kind(kind: $0) }
    + [Kind(kind: "ppp", hardwareType: 512), Kind(kind: "wwan", hardwareType: 0xfffe)]

  @Test(arguments: kinds)
  func `every kind of tunnel is looked beneath, and no other link`(_ kind: Kind) {
    var kernel = Kernel.openVPN()
    kernel.facts = Kernel.uplinks + Kernel.tunnel(10, "x0", kind: kind.kind, hardwareType: kind.hardwareType)
    kernel.start()
    #expect(kernel.published.last?.vpn?.kind == kind.tunnel)
    #expect(kernel.published.last?.interfaceName == (kind.tunnel == nil ? "x0" : "eth0"))
    #expect(kernel.published.last?.ipv4?.address == .ip("10.8.10.2"))
  }

  @Test(arguments: ["xfrm", "gre"]) func `a tunnel that is bound to the loopback stands on no link`(_ kind: String) {
    var kernel = Kernel.openVPN()
    kernel.facts = [.loopback] + Kernel.uplinks + Kernel.tunnel(10, "x0", kind: kind, lower: 1)
    kernel.start()
    #expect(kernel.carrier == "eth0 x0 wired")
  }

  @Test func `a modem that looks like a tunnel is none`() {
    var kernel = Kernel.openVPN()
    let modem = DeviceTraits(type: "wwan")
    kernel.facts =
      Kernel.uplinks + [.link(10, "wwp0", hardwareType: 0xfffe, device: modem), .address(10, .ip("10.8.10.2"))]
    kernel.start()
    #expect(kernel.carrier == "wwp0 * wwan")
  }

  // MARK: Marks

  @Test func `wg-quick: its mark leads past its table`() {
    var kernel = Kernel.wgQuick()
    kernel.start()
    #expect(kernel.story == ["wifi initial eth0"])
    #expect(kernel.carrier == "eth0 wg0 wired")
    #expect(kernel.published.last?.vpn?.kind == .wireguard)
    #expect(kernel.published.last?.ipv4?.address == .ip("10.8.10.2"))
    #expect(kernel.published.last?.ipv6?.address == .ip("fd00:10::2"))
    // No other question is needed. Above all, not every link is asked about.
    #expect(
      Set(kernel.lookUps) == [
        .ipv4, .ipv6, .beneath(.ipv4, .rules), .beneath(.ipv6, .rules), .beneath(.ipv4, .marked(51820)),
        .beneath(.ipv6, .marked(51820)), RouteRequest(.ipv6, .marked(51820), to: RouteRequest.internet(2)),
        .beneath(.ipv6, .from(.ip("2001:db8:1::1"))), .beneath(.ipv6, .from(.ip("fd00:10::2"))),
      ])
    // The question is asked twice because another link could carry the traffic, and because the router is watched only
    // since the first answers.
    #expect(kernel.lookUps.count { $0 == .ipv4 } == 2)
  }

  @Test(arguments: [(AddressFamily.ipv4, AddressFamily.ipv6), (.ipv6, .ipv4)])
  func `one family inside, the other one outside`(_ inside: AddressFamily, _ outside: AddressFamily) {
    var kernel = Kernel.wgQuick()
    kernel.answers[RouteRequest(outside)] = .noRoute
    kernel.answers[.beneath(.ipv4, .marked(51820))] = .noRoute
    let source = outside == .ipv4 ? "10.0.0.1" : "2001:db8:1::1"
    kernel.answers[.beneath(outside, .marked(51820))] = .via(2, nil, from: .ip(source))
    kernel.start()
    #expect(kernel.carrier == "eth0 wg0 wired")
    #expect(kernel.published.last?.supportsIPv4 == (inside == .ipv4))
    #expect(kernel.published.last?.supportsIPv6 == (inside == .ipv6))
  }

  @Test func `tailscale: the mark's rule stands before the table of the tunnel`() {
    var kernel = Kernel(.init())
    kernel.facts = Kernel.uplinks + Kernel.tunnel(10, "tailscale0", kind: "tun")
    kernel.answers[.ipv4] = Kernel.into(10, table: 52)
    kernel.answers[.beneath(.ipv4, .rules)] = .rules(RoutingRule.tailscale)
    kernel.answers[.beneath(.ipv4, .marked(0x80000))] = Kernel.over(3)
    kernel.start()
    #expect(kernel.carrier == "wlan0 tailscale0 wifi")
  }

  @Test func `of several marks the first that leads out counts`() {
    var kernel = Kernel.wgQuick()
    kernel.answers[.beneath(.ipv4, .rules)] = .rules([
      .unlessMark(7, table: 51820), .unlessMark(8, table: 51820), .table(RoutingRule.mainTable),
    ])
    kernel.answers[.beneath(.ipv6, .rules)] = .rules(RoutingRule.standard)
    kernel.answers[.beneath(.ipv4, .marked(51820))] = nil
    kernel.answers[.beneath(.ipv4, .marked(8))] = Kernel.over(3)
    kernel.start()
    #expect(kernel.carrier == "wlan0 wg0 wifi")
  }

  @Test(arguments: [RouteAnswer.refused, .noRoute, .rules([])])
  func `a kernel without rules has other ways to say`(_ answer: RouteAnswer) {
    var kernel = Kernel.openVPN()
    for family in AddressFamily.allCases { kernel.answers[.beneath(family, .rules)] = answer }
    kernel.start()
    #expect(kernel.carrier == "eth0 tun0 wired")
  }

  // MARK: The best link that is no tunnel

  @Test func `OpenVPN: the best route over a link that is no tunnel`() {
    var kernel = Kernel.openVPN()
    kernel.start()
    #expect(kernel.story == ["wifi initial eth0"])
    #expect(kernel.carrier == "eth0 tun0 wired")
    kernel.answers[.beneath(.ipv4, .link(3))] = Kernel.route(over: 3, metric: 50)
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story.last == "wifi medium_changed wlan0")
    #expect(kernel.carrier == "wlan0 tun0 wifi")
  }

  @Test func `IPv4's routes come before IPv6's, whatever their metrics`() {
    var kernel = Kernel.openVPN()
    kernel.answers[.beneath(.ipv6, .link(2))] = .via(2, .ip("fe80::1"), from: nil, metric: 1)
    kernel.answers[.beneath(.ipv4, .link(2))] = nil
    kernel.start()
    #expect(kernel.carrier == "wlan0 tun0 wifi")
    kernel.answers[.beneath(.ipv4, .link(3))] = nil
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.carrier == "eth0 tun0 wired")
    #expect(kernel.published.last?.supportsIPv6 == false)
  }

  @Test func `a dead link is the loss, if the best route leads over it`() {
    var kernel = Kernel.openVPN()
    kernel.start()
    // The kernel does not go on to another route because a link is dead.
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.story.last == "not-reachable no_carrier -")
    kernel.answers[.beneath(.ipv4, .link(2))] = nil
    kernel.tell(.routing(.ipv4, isRemoval: true))
    #expect(kernel.story.last == "wifi route_up wlan0")
  }

  @Test func `links that are off, other tunnels and the loopback are not asked`() {
    var kernel = Kernel.openVPN()
    kernel.facts += Kernel.tunnel(11, "tun1", kind: "tun") + [.link(5, "eth1", .noCarrier), .link(6, "eth2", .down)]
    kernel.start()
    let links = kernel.lookUps.compactMap { if case .link(let index) = $0.scope { index } else { nil } }
    #expect(Set(links) == [2, 3, 4, 5])
    // Each link is asked about twice in each family, because the routers are watched only since the first answers.
    #expect(links.count == 16)
  }

  @Test func `a best link without an address yields to the next one`() {
    var kernel = Kernel.openVPN()
    kernel.start()
    kernel.tell(.noAddress(2, .ip("10.0.0.1")))
    #expect(kernel.carrier == "wlan0 tun0 wifi")
  }

  // MARK: A known other end

  @Test(arguments: ["gre", "gretap", "ipip", "sit", "vti", "vxlan", "geneve", "ip6tnl", "ip6gre"])
  func `the way to the other end, in that end's family`(_ kind: String) {
    var kernel = Kernel.openVPN()
    let remote = InternetAddress.ip(kind.hasPrefix("ip6") ? "2001:db8:9::7" : "198.51.100.7")
    kernel.facts = Kernel.uplinks + Kernel.tunnel(10, "t0", kind: kind, remote: remote)
    let source = InternetAddress.ip(remote.family == .ipv4 ? "10.1.0.1" : "2001:db8:1::1")
    let index: Int32 = remote.family == .ipv4 ? 3 : 2
    kernel.answers[.beneath(remote.family, .remote(tunnel: 10))] = .via(index, nil, from: source)
    kernel.start()
    #expect(kernel.carrier == (index == 3 ? "wlan0 t0 wifi" : "eth0 t0 wired"))
    // If the other end is known, only the way to this end counts.
    kernel.answers[.beneath(remote.family, .remote(tunnel: 10))] = .noRoute
    kernel.tell(.routing(AddressFamilies(remote.family), isRemoval: false))
    #expect(kernel.story.last == "not-reachable vpn_without_underlay -")
  }

  @Test(arguments: ["xfrm", "vti", "vxlan", "sit"])
  func `a link that the tunnel names, without another end`(_ kind: String) {
    var kernel = Kernel.openVPN()
    kernel.facts = Kernel.uplinks + Kernel.tunnel(10, "t0", kind: kind, lower: 3)
    kernel.start()
    #expect(kernel.carrier == "wlan0 t0 wifi")
    #expect(!kernel.lookUps.contains { $0.isBeneath && $0.scope != .rules })
    kernel.tell(.noAddress(3, .ip("10.1.0.1")))
    #expect(kernel.story.last == "not-reachable no_address -")
    kernel.tell(.address(3, .ip("10.1.0.1")))
    #expect(kernel.story.last == "wifi route_up wlan0")
    kernel.tell(.link(3, "wlan0", .dormant, device: DeviceTraits(isWireless: true)))
    #expect(kernel.story.last == "not-reachable dormant -")
  }

  @Test func `a link and another end: the way there over that link`() {
    var kernel = Kernel.openVPN()
    kernel.facts = Kernel.uplinks + Kernel.tunnel(10, "t0", kind: "gre", lower: 3, remote: .ip("198.51.100.7"))
    kernel.answers[.beneath(.ipv4, .remote(tunnel: 10))] = Kernel.route(over: 3)
    kernel.start()
    #expect(kernel.carrier == "wlan0 t0 wifi")
    // The kernel refuses a question about a single link that has no route.
    kernel.answers[.beneath(.ipv4, .remote(tunnel: 10))] = .refused
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story.last == "not-reachable vpn_without_underlay -")
  }

  @Test func `a link that is not known is no help, and no harm`() {
    var kernel = Kernel.openVPN()
    kernel.facts = Kernel.uplinks + Kernel.tunnel(10, "t0", kind: "xfrm", lower: 77)
    kernel.start()
    #expect(kernel.carrier == "eth0 t0 wired")
  }

  // MARK: No other link

  @Test func `a tunnel that was made in another namespace is carried there`() {
    var kernel = Kernel.openVPN()
    var fact = LinkUpdate(10, "gre1", .unknown, kind: "gre", hardwareType: 778)
    fact.isCarriedElsewhere = true
    kernel.facts = Kernel.uplinks + [.link(fact), .address(10, .ip("10.8.10.2"))]
    kernel.start()
    #expect(kernel.carrier == "gre1 gre1 other")
    #expect(kernel.published.last?.vpn?.isCarrierKnown == false)
    #expect(!kernel.lookUps.contains { $0.isBeneath && $0.scope != .rules })
    fact.isCarriedElsewhere = false
    kernel.tell(.link(fact))
    #expect(kernel.story.last == "wifi medium_changed eth0")
    #expect(kernel.published.last?.vpn?.isCarrierKnown == true)
  }

  /// Returns a kernel as in a container without privileges. Its only link is a tap that belongs to the program of the
  /// container's network.
  private static func lonely(_ namespaces: IsolatedNamespaces, kind: String = "tun") -> Kernel {
    var kernel = Kernel(.init(), namespaces: namespaces)
    kernel.facts = [.loopback] + Kernel.tunnel(10, "tap0", .up, kind: kind, hardwareType: 1)
    kernel.answers[.ipv4] = Kernel.into(10)
    kernel.start()
    return kernel
  }

  @Test func `in a container whose only way out is a tap, a program outside carries it`() {
    var kernel = Self.lonely([.users, .network])
    #expect(kernel.story == ["wifi initial tap0"])
    #expect(kernel.carrier == "tap0 * other")
    // With a dead card beside the tap, nothing carries the tunnel.
    kernel.tell(.link(2, "eth0", .down))
    #expect(kernel.story.last == "not-reachable vpn_without_underlay -")
    // The same is true after the card was removed.
    kernel.tell(.linkRemoved(index: 2))
    #expect(kernel.published.last?.status == .notReachable)
  }

  @Test func `elsewhere, and with other kinds of tunnels, nothing carries it`() {
    #expect(Self.lonely([]).story == ["not-reachable vpn_without_underlay -"])
    #expect(Self.lonely(.network).story == ["not-reachable vpn_without_underlay -"])
    #expect(Self.lonely([.users, .network], kind: "gre").story == ["not-reachable vpn_without_underlay -"])
  }

  @Test func `WireGuard alone in a network namespace was made in another one`() {
    var kernel = Self.lonely(.network, kind: "wireguard")
    #expect(kernel.carrier == "tap0 tap0 other")
    #expect(kernel.published.last?.vpn?.isCarrierKnown == false)
    // On the machine itself, such a tunnel has lost the link that carried it.
    #expect(Self.lonely([], kind: "wireguard").story == ["not-reachable vpn_without_underlay -"])
    kernel.tell(.link(2, "eth0", .down))
    #expect(kernel.story.last == "not-reachable vpn_without_underlay -")
  }

  // MARK: Sinks

  @Test(arguments: ["dummy", "ifb", "nlmon"])
  func `a sink is no way out and no evidence`(_ kind: String) {
    var kernel = Kernel.wgQuick()
    kernel.facts += [.link(7, "sink0", .unknown, kind: kind), .address(7, .ip("10.7.0.1"))]
    kernel.answers[.beneath(.ipv4, .marked(51820))] = .via(7, nil, from: .ip("10.7.0.1"))
    kernel.answers[.beneath(.ipv4, .link(3))] = Kernel.route(over: 3, metric: 100)
    kernel.answers[.beneath(.ipv4, .link(7))] = .via(7, nil, from: nil, metric: 98)
    kernel.start()
    #expect(kernel.carrier == "wlan0 wg0 wifi")
    kernel.answers[.ipv4] = .via(7, nil, from: .ip("10.7.0.1"))
    kernel.answers[.ipv6] = .noRoute
    kernel.tell(.routing(.both, isRemoval: false))
    #expect(kernel.story.last == "not-reachable route_unreachable -")
  }

  // MARK: A tunnel that has taken the place of the default route

  private static func replaced(_ configuration: MonitorConfiguration = .init()) -> Kernel {
    var kernel = Kernel.openVPN(configuration)
    kernel.answers[.beneath(.ipv4, .link(2))] = nil
    kernel.answers[.beneath(.ipv4, .link(3))] = nil
    return kernel
  }

  private static let server = InternetAddress.ip("198.18.0.7")
  private static let hostRoute = RouteAnswer.hostRoutes([server])

  @Test func `routes to single addresses are listed at most once a second, and watched while they decide`() {
    var kernel = Self.replaced()
    kernel.answers[.beneath(.ipv4, .hostRoutes(2))] = Self.hostRoute
    kernel.answers[.beneath(.ipv4, .way(Self.server))] = Kernel.over(2)
    kernel.start()
    #expect(kernel.carrier == "eth0 tun0 wired")
    #expect(kernel.watch.includesHostRoutes)
    // Routes to single addresses are watched before they are listed.
    let watch = kernel.watches.first ?? .max
    #expect(watch < kernel.position(of: .beneath(.ipv4, .hostRoutes(2))) ?? 0)
    func listings() -> Int { kernel.lookUps.count { $0 == .beneath(.ipv4, .hostRoutes(3)) } }
    #expect(listings() == 1)
    // The tunnel changes to another server, over the other link.
    let other = InternetAddress.ip("198.18.0.8")
    kernel.answers[.beneath(.ipv4, .hostRoutes(2))] = nil
    kernel.answers[.beneath(.ipv4, .hostRoutes(3))] = .hostRoutes([other])
    kernel.answers[.beneath(.ipv4, .way(other))] = Kernel.over(3)
    for _ in 0..<10 {
      kernel.advance(by: .milliseconds(50))
      kernel.tell(.routing(.ipv4, isRemoval: false))
    }
    #expect(listings() == 1)
    #expect(kernel.carrier == "eth0 tun0 wired")
    kernel.advance(by: .milliseconds(500))
    #expect(listings() == 2)
    #expect(kernel.carrier == "wlan0 tun0 wifi")
    // Without the tunnel, these routes are not listed any more.
    kernel.answers[.ipv4] = Kernel.over(2)
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.carrier == "eth0 * wired")
    #expect(!kernel.watch.includesHostRoutes)
    #expect(kernel.timers.isEmpty)
    #expect(listings() == 2)
  }

  @Test
  func `if the route to the server vanishes with its link, nothing carries the tunnel until the client writes another`()
  {
    var kernel = Kernel.openVPN()
    kernel.answers[.beneath(.ipv4, .hostRoutes(3))] = Self.hostRoute
    kernel.answers[.beneath(.ipv4, .way(Self.server))] = Kernel.over(3)
    kernel.start()
    #expect(kernel.carrier == "wlan0 tun0 wifi")
    // A network manager removes the address of a link without carrier. The kernel then removes the routes that need
    // this address.
    let wlan = { kernel.tell(.link(3, "wlan0", $0, device: DeviceTraits(isWireless: true))) }
    wlan(.noCarrier)
    #expect(kernel.story.last == "not-reachable no_carrier -")
    kernel.answers[.beneath(.ipv4, .hostRoutes(3))] = nil
    kernel.answers[.beneath(.ipv4, .way(Self.server))] = Kernel.into(10)
    kernel.tell(.addressRemoved(index: 3, .ip("10.1.0.1"), prefixLength: 24))
    kernel.advance(by: .seconds(5))
    wlan(.up)
    kernel.tell(.address(3, .ip("10.1.0.1")))
    kernel.advance(by: .seconds(5))
    #expect(kernel.story.filter { !$0.contains("interfaces") } == ["wifi initial wlan0", "not-reachable no_carrier -"])
    let other = InternetAddress.ip("198.18.0.8")
    kernel.answers[.beneath(.ipv4, .hostRoutes(2))] = .hostRoutes([other])
    kernel.answers[.beneath(.ipv4, .way(other))] = Kernel.over(2)
    kernel.tell(.routing(.ipv4, isRemoval: false))
    kernel.advance(by: .seconds(2))
    #expect(kernel.story.last == "wifi route_up eth0")
    // Somebody removes that route although its link works, so nothing shows that the tunnel needs the route.
    kernel.answers[.beneath(.ipv4, .hostRoutes(2))] = nil
    kernel.answers[.beneath(.ipv4, .way(other))] = Kernel.into(10)
    kernel.tell(.routing(.ipv4, isRemoval: true))
    kernel.advance(by: .seconds(2))
    #expect(kernel.carrier == "eth0 tun0 wired")
  }

  @Test func `the route to the server counts before a better default route`() {
    var kernel = Kernel.openVPN()
    kernel.start()
    #expect(kernel.carrier == "eth0 tun0 wired")
    kernel.answers[.beneath(.ipv4, .hostRoutes(3))] = Self.hostRoute
    kernel.answers[.beneath(.ipv4, .way(Self.server))] = Kernel.over(3)
    kernel.advance(by: .seconds(2))
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.carrier == "wlan0 tun0 wifi")
    // This server is inside the tunnel, so the route to it does not count.
    kernel.answers[.beneath(.ipv4, .hostRoutes(3))] = .hostRoutes([.ip("10.8.10.77")])
    kernel.answers[.beneath(.ipv4, .way(.ip("10.8.10.77")))] = Kernel.over(3)
    kernel.advance(by: .seconds(2))
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.carrier == "eth0 tun0 wired")
  }

  @Test func `of three candidates without evidence nothing is known, of which all are modems something is`() {
    var kernel = Self.replaced()
    kernel.start()
    #expect(kernel.carrier == "tun0 tun0 other")
    #expect(kernel.published.last?.status == .wifi)
    #expect(kernel.published.last?.isExpensive == true)
    kernel.tell(.link(2, "eth0", .noCarrier))
    kernel.tell(.link(4, "wwan0", .down, kind: "wwan", hardwareType: 65534))
    #expect(kernel.carrier == "wlan0 tun0 wifi")
    #expect(kernel.story.last == "wifi medium_changed wlan0")
    kernel.tell(.link(3, "wlan0", .noCarrier, device: DeviceTraits(isWireless: true)))
    #expect(kernel.story.last == "not-reachable no_carrier -")
  }

  @Test(arguments: [true, false])
  func `evidence over a dead link is the loss, whatever else could carry the tunnel`(isReplaced: Bool) {
    var kernel = isReplaced ? Self.replaced() : Kernel.openVPN()
    kernel.answers[.beneath(.ipv4, .hostRoutes(2))] = Self.hostRoute
    kernel.answers[.beneath(.ipv4, .way(Self.server))] = Kernel.over(2)
    kernel.start()
    #expect(kernel.carrier == "eth0 tun0 wired")
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.story.last == "not-reachable no_carrier -")
  }

  // MARK: Names

  @Test func `a link that the user calls a tunnel is one`() {
    var configuration = MonitorConfiguration()
    configuration.isTunnel = { $0 == "ppp0" }
    var kernel = Kernel.openVPN(configuration)
    kernel.facts = Kernel.uplinks + Kernel.tunnel(10, "ppp0", kind: "ppp", hardwareType: 512)
    kernel.start()
    #expect(kernel.carrier == "eth0 ppp0 wired")
    #expect(kernel.published.last?.vpn?.kind == .other)
  }

  @Test(arguments: ["tun", "ip6tnl"])
  func `464XLAT is carried by IPv6, and DS-Lite is a tunnel`(_ kind: String) {
    var kernel = Kernel.openVPN()
    kernel.facts =
      Kernel.uplinks + [
        .link(10, "x0", .unknown, kind: kind, hardwareType: 65534), .address(10, .ip("192.0.0.2"), 29),
      ]
    kernel.answers[.ipv4] = .via(10, nil, from: .ip("192.0.0.2"))
    let way = RouteAnswer.via(2, .ip("fe80::1"), from: .ip("2001:db8:1::1"))
    kernel.answers[.ipv6] = way
    kernel.answers[.beneath(.ipv6, .plain)] = way
    kernel.start()
    #expect(kernel.carrier == (kind == "tun" ? "eth0 * wired" : "eth0 x0 wired"))
    #expect(kernel.published.last?.ipv4?.address == .ip("192.0.0.2"))
    #expect(kernel.published.last?.ipv4?.gateway == nil)
    #expect(kernel.published.last?.isIPv4Translated == (kind == "tun"))
  }
}
