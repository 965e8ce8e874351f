import Netwatch
import NetwatchTestSupport
import Testing

/// What lies beneath a tunnel, in the layouts that people have.
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
    // What the kernel can not name yet, by its hardware type: ARPHRD_NONE, TUNNEL, TUNNEL6, SIT, IPGRE, IP6GRE.
    + [0xfffe, 768, 769, 776, 778, 823].map { Kind(kind: nil, hardwareType: $0, tunnel: .other) }
    + ["ovpn-dco", "amneziawg"].map { Kind(kind: $0, hardwareType: 0xfffe, tunnel: .other) }
    + [nil, "veth", "dummy", "ifb", "nlmon", "netkit"].map { Kind(kind: $0) }
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
    // Nothing else has to be asked; above all not every link.
    #expect(
      Set(kernel.lookUps) == [
        .ipv4, .ipv6, .beneath(.ipv4, .rules), .beneath(.ipv6, .rules), .beneath(.ipv4, .marked(51820)),
        .beneath(.ipv6, .marked(51820)),
      ])
    #expect(kernel.lookUps.count == 6)
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

  @Test func `a dead link does not carry, though the best route leads over it`() {
    var kernel = Kernel.openVPN()
    kernel.facts.append(.link(5, "eth1", .noCarrier))
    kernel.answers[.beneath(.ipv4, .link(5))] = Kernel.route(over: 5, metric: 1)
    kernel.start()
    #expect(kernel.carrier == "eth0 tun0 wired")
  }

  @Test func `links that are off, other tunnels and the loopback are not asked`() {
    var kernel = Kernel.openVPN()
    kernel.facts += Kernel.tunnel(11, "tun1", kind: "tun") + [.link(5, "eth1", .noCarrier), .link(6, "eth2", .down)]
    kernel.start()
    let links = kernel.lookUps.compactMap { if case .link(let index) = $0.scope { index } else { nil } }
    #expect(Set(links) == [2, 3, 4, 5])
    #expect(links.count == 8)
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
    let remote = IPAddress.ip(kind.hasPrefix("ip6") ? "2001:db8:9::7" : "198.51.100.7")
    kernel.facts = Kernel.uplinks + Kernel.tunnel(10, "t0", kind: kind, remote: remote)
    let source = IPAddress.ip(remote.family == .ipv4 ? "10.1.0.1" : "2001:db8:1::1")
    let index: Int32 = remote.family == .ipv4 ? 3 : 2
    kernel.answers[.beneath(remote.family, .remote(tunnel: 10))] = .via(index, nil, from: source)
    kernel.start()
    #expect(kernel.carrier == (index == 3 ? "wlan0 t0 wifi" : "eth0 t0 wired"))
    // Once the other end is known, no other link will do.
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
    #expect(kernel.lookUps.count == 2)
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
    // What the kernel says of a single link without a route.
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

  // MARK: Nothing else

  @Test func `a tunnel that is carried in another namespace is a way out as any other`() {
    var kernel = Kernel.openVPN()
    var fact = LinkFact(10, "gre1", .unknown, kind: "gre", hardwareType: 778)
    fact.isCarriedElsewhere = true
    kernel.facts = Kernel.uplinks + [.link(fact), .address(10, .ip("10.8.10.2"))]
    kernel.start()
    #expect(kernel.carrier == "gre1 * other")
    #expect(kernel.lookUps == [.ipv4, .ipv6])
    fact.isCarriedElsewhere = false
    kernel.tell(.link(fact))
    #expect(kernel.story.last == "wifi vpn_up eth0")
  }

  @Test func `where there never was anything but tunnels, what carries them is elsewhere`() {
    // As in a container without privileges, whose only link is a tap of its network's program.
    var kernel = Kernel(.init())
    kernel.facts = [.loopback] + Kernel.tunnel(10, "tap0", .up, kind: "tun", hardwareType: 1)
    kernel.answers[.ipv4] = Kernel.into(10)
    kernel.start()
    #expect(kernel.story == ["wifi initial tap0"])
    #expect(kernel.carrier == "tap0 * other")
    // A dead card is something else.
    kernel.tell(.link(2, "eth0", .down))
    #expect(kernel.story.last == "not-reachable vpn_without_underlay -")
    // And so is one that was there before.
    kernel.tell(.linkRemoved(index: 2))
    #expect(kernel.published.last?.status == .notReachable)
  }
}
