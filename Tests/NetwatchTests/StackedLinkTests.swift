import Netwatch
import NetwatchTestSupport
import Testing

/// Links that stand on others have the medium of what carries their traffic.
@Suite struct StackedLinkTests {
  typealias Kernel = ScriptedKernel

  static let radio = DeviceTraits(type: "wlan", isWireless: true)
  static let cable: NetworkEvent = .link(2, "eth0", master: 20)
  static let secondCable: NetworkEvent = .link(3, "eth1", master: 20)
  static let wireless: NetworkEvent = .link(4, "wlan0", master: 20, device: radio)
  static let modem: NetworkEvent = .link(5, "wwan0", .unknown, kind: "wwan", hardwareType: 65534, master: 20)
  static let veth: NetworkEvent = .link(6, "veth0", kind: "veth", master: 20)
  static let tap: NetworkEvent = .link(7, "tap0", kind: "tun", master: 20)
  static let dummy: NetworkEvent = .link(8, "dummy0", .unknown, kind: "dummy", master: 20)
  static let overlay: NetworkEvent = .link(9, "vx0", .unknown, kind: "vxlan", master: 20)

  /// Returns a kernel whose default route leads over link 20. This link has the kind `kind` and stands on `others`.
  static func kernel(
    _ kind: String, _ others: [NetworkEvent], lower: Int32? = nil, activePort: Int32? = nil,
    _ configuration: MonitorConfiguration = .init()
  ) -> Kernel {
    var kernel = Kernel(configuration)
    kernel.facts =
      [.loopback] + others
      + [.link(20, "x0", kind: kind, lower: lower, activePort: activePort), .address(20, .ip("10.0.0.1"))]
    kernel.answers[.ipv4] = .via(20, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
    kernel.start()
    return kernel
  }

  static func medium(_ kernel: Kernel) -> Medium? { kernel.machine.evaluator.snapshot.interface(20)?.medium }

  // MARK: On one other link

  static let bases: [(NetworkEvent, Medium)] = [
    (cable, .wired), (wireless, .wifi), (modem, .wwan), (veth, .virtual), (dummy, .other),
  ]

  @Test(arguments: ["vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec"])
  func `a link on another one has its medium`(_ kind: String) {
    for (lower, medium) in Self.bases {
      guard case .link(var fact) = lower else { continue }
      fact.masterIndex = nil
      let kernel = Self.kernel(kind, [.link(fact)], lower: fact.index)
      #expect(kernel.story == [medium == .wwan ? "wwan initial x0" : "wifi initial x0"])
      #expect(kernel.published.last?.medium == medium)
      #expect(kernel.published.last?.isExpensive == (medium == .wwan))
    }
  }

  @Test(arguments: ["vlan", "macvlan"])
  func `a link whose lower link is in another namespace or gone is virtual`(_ kind: String) {
    // If the lower link is in another namespace, the decoder gives none.
    #expect(Self.kernel(kind, []).published.last?.medium == .virtual)
    var kernel = Self.kernel(kind, [.link(2, "eth0")], lower: 2)
    kernel.tell(.linkRemoved(index: 2))
    #expect(kernel.story.last == "wifi medium_changed x0")
    #expect(kernel.published.last?.medium == .virtual)
  }

  @Test func `a stack has the same medium, whatever the order of its messages`() {
    let facts: [NetworkEvent] = [
      .link(4, "wlan0", master: 10, device: Self.radio), .link(10, "bond0", kind: "bond"),
      .link(11, "bond0.5", kind: "vlan", lower: 10), .link(20, "mv0", kind: "macvlan", lower: 11),
      .address(20, .ip("10.0.0.1")),
    ]
    for links in [facts, [facts[3], facts[2], facts[1], facts[0], facts[4]]] {
      var kernel = Kernel(.init())
      kernel.answers[.ipv4] = .via(20, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
      kernel.start()
      for link in links { kernel.tell(link) }
      #expect(kernel.published.last?.medium == .wifi)
      #expect(kernel.published.last?.interfaceName == "mv0")
    }
  }

  @Test(arguments: [(6, Medium.wired), (7, .other)])
  func `very deep stacks end`(_ count: Int, _ medium: Medium) {
    var links: [NetworkEvent] = [.link(30, "l30")]
    for index in Int32(31)..<Int32(31 + count) {
      links.append(.link(index, "l\(index)", kind: "vlan", lower: index - 1))
    }
    #expect(Self.kernel("vlan", links, lower: Int32(30 + count)).published.last?.medium == medium)
  }

  @Test func `links that stand on each other in a circle have an end`() {
    let links: [NetworkEvent] = [.link(2, "a", kind: "vlan", lower: 3), .link(3, "b", kind: "vlan", lower: 2)]
    #expect(Self.kernel("vlan", links, lower: 2).published.last?.status == .wifi)
    let ports: [NetworkEvent] = [.link(2, "a", kind: "bond", master: 20), .link(3, "b", kind: "bond", master: 2)]
    #expect(Self.kernel("bond", ports + [.link(20, "x0", kind: "bond", master: 3)]).published.last?.isReachable == true)
  }

  // MARK: On ports

  struct Ports: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let kind: String
    let ports: [NetworkEvent]
    var activePort: Int32? = nil
    let medium: Medium
  }

  @Test(arguments: [
    Ports(testDescription: "bond, one port", kind: "bond", ports: [wireless], medium: .wifi),
    Ports(testDescription: "bond, equal ports", kind: "bond", ports: [cable, secondCable], medium: .wired),
    Ports(testDescription: "bond, mixed ports", kind: "bond", ports: [cable, wireless], medium: .other),
    Ports(
      testDescription: "bond, the wire is active", kind: "bond", ports: [cable, wireless], activePort: 2, medium: .wired
    ),
    Ports(
      testDescription: "bond, the radio is active", kind: "bond", ports: [cable, wireless], activePort: 4, medium: .wifi
    ),
    Ports(testDescription: "bond, unknown active port", kind: "bond", ports: [cable], activePort: 77, medium: .wired),
    Ports(testDescription: "bond over veth", kind: "bond", ports: [veth], medium: .virtual),
    Ports(testDescription: "empty", kind: "bond", ports: [], medium: .virtual),
    Ports(testDescription: "bridge, one card", kind: "bridge", ports: [cable], medium: .wired),
    Ports(testDescription: "bridge, a card and guests", kind: "bridge", ports: [veth, wireless, tap], medium: .wifi),
    Ports(testDescription: "bridge, mixed cards", kind: "bridge", ports: [cable, wireless, tap], medium: .other),
    Ports(testDescription: "bridge, guests", kind: "bridge", ports: [veth, tap], medium: .virtual),
    Ports(testDescription: "bridge, overlay", kind: "bridge", ports: [veth, overlay], medium: .other),
    Ports(testDescription: "bridge, dummy", kind: "bridge", ports: [dummy], medium: .other),
    Ports(testDescription: "team", kind: "team", ports: [cable, veth], medium: .wired),
    Ports(testDescription: "vrf", kind: "vrf", ports: [cable], medium: .wired),
    Ports(testDescription: "vrf over veth", kind: "vrf", ports: [veth], medium: .virtual),
    Ports(
      testDescription: "bond, a port without carrier", kind: "bond",
      ports: [cable, .link(4, "wlan0", .dormant, master: 20, device: radio)], medium: .wired),
    Ports(
      testDescription: "bridge of a bond of cards", kind: "bridge",
      ports: [
        .link(10, "bond0", kind: "bond", master: 20), .link(2, "eth0", master: 10), .link(3, "eth1", master: 10),
      ],
      medium: .wired),
  ])
  func `a link on ports has their medium`(_ ports: Ports) {
    let kernel = Self.kernel(ports.kind, ports.ports, activePort: ports.activePort)
    #expect(Self.medium(kernel) == ports.medium)
    // If the link is reachable, which needs a running port, the path has the same medium.
    if let path = kernel.published.last, path.isReachable { #expect(path.medium == ports.medium) }
  }

  @Test func `a bond fails over`() {
    var kernel = Self.kernel("bond", [Self.cable, Self.modem], activePort: 2)
    #expect(kernel.story == ["wifi initial x0"])
    kernel.tell(.link(20, "x0", kind: "bond", activePort: 5))
    #expect(kernel.story.last == "wwan medium_changed x0")
    #expect(kernel.published.last?.isExpensive == true)
    // A partial message does not contain the active port.
    var partial = LinkUpdate(index: 20, flags: LinkState.up.flags, hardwareType: 1)
    partial.kind = "bond"
    kernel.tell(.link(partial))
    #expect(kernel.published.last?.medium == .wwan)
    kernel.tell(.link(20, "x0", kind: "bond", activePort: 2))
    #expect(kernel.story.last == "wifi medium_changed x0")
    #expect(kernel.published.last?.isExpensive == false)
  }

  @Test func `what a change of a lower link makes of the active port is read at once`() {
    var kernel = Self.kernel("bond", [Self.cable, Self.modem], activePort: 2)
    kernel.links[20] = .link(20, "x0", kind: "bond", activePort: 5)
    kernel.tell(.link(2, "eth0", .noCarrier, master: 20))
    #expect(kernel.story == ["wifi initial x0", "wwan medium_changed x0"])
  }

  @Test func `ports join, leave, and lose their carrier`() {
    var kernel = Self.kernel("bridge", [Self.cable])
    kernel.tell(Self.wireless)
    #expect(kernel.story.last == "wifi medium_changed x0")
    #expect(kernel.published.last?.medium == .other)
    kernel.tell(.link(2, "eth0", .noCarrier, master: 20))
    #expect(kernel.published.last?.medium == .wifi)
    kernel.tell(Self.cable)
    #expect(kernel.published.last?.medium == .other)
    kernel.tell(.link(4, "wlan0", device: Self.radio))
    #expect(kernel.published.last?.medium == .wired)
    kernel.tell(Self.veth)
    #expect(kernel.published.last?.medium == .wired)
    kernel.tell(.linkRemoved(index: 2))
    #expect(kernel.story.last == "wifi medium_changed x0")
    #expect(kernel.published.last?.medium == .virtual)
    #expect(kernel.machine.statistics.transitions == 6)
  }

  @Test func `a port that is missing from a listing no longer counts`() {
    var kernel = Self.kernel("bridge", [Self.cable, Self.wireless])
    kernel.facts.removeAll { $0 == Self.wireless }
    kernel.handle(.overrun)
    kernel.handle(.drained)
    #expect(kernel.story.last == "wifi resynced x0")
    #expect(kernel.published.last?.medium == .wired)
  }

  @Test func `a card that turns out to be a radio tells those above`() {
    var kernel = Self.kernel("vlan", [.link(2, "eth0")], lower: 2)
    kernel.tell(.wireless(index: 2, WirelessLink(mode: .station, ssid: nil)))
    #expect(kernel.story.last == "wifi medium_changed x0")
    #expect(kernel.published.last?.medium == .wifi)
  }

  // MARK: Beside the path

  @Test func `the list of links says the medium too, and each change`() {
    var kernel = Self.kernel(
      "macvlan", [.link(2, "eth0"), .link(30, "br0", kind: "bridge")], lower: 2, .withInterfaces)
    func media() -> [Medium]? { kernel.published.last?.interfaces.map(\.medium) }
    #expect(media() == [.other, .wired, .wired, .virtual])
    kernel.tell(.link(4, "wlan0", master: 30, device: Self.radio))
    #expect(media() == [.other, .wired, .wifi, .wired, .wifi])
    #expect(kernel.changes.last == .interfaces)
    kernel.tell(.link(4, "wlan0", .down, master: 30, device: Self.radio))
    #expect(media() == [.other, .wired, .wifi, .wired, .virtual])
  }

  @Test func `a phone on USB is expensive, and so is what stands on it`() {
    let phone = DeviceTraits(isTether: true)
    let kernel = Self.kernel("vlan", [.link(2, "enx0", device: phone)], lower: 2)
    #expect(kernel.published.last?.medium == .wired)
    #expect(kernel.published.last?.isExpensive == true)
    let mixed = Self.kernel("bond", [Self.cable, .link(3, "enx0", master: 20, device: phone)])
    #expect(mixed.published.last?.isExpensive == true)
    let active = Self.kernel("bond", [Self.cable, .link(3, "enx0", master: 20, device: phone)], activePort: 2)
    #expect(active.published.last?.isExpensive == false)
  }

  @Test func `a tunnel over a stack has the medium at its bottom`() {
    var kernel = Kernel.wgQuick()
    kernel.facts += [.link(12, "wwan0.5", .unknown, kind: "vlan", lower: 4), .address(12, .ip("10.9.0.1"))]
    kernel.answers[.beneath(.ipv4, .marked(51820))] = .via(12, nil, from: .ip("10.9.0.1"))
    kernel.start()
    #expect(kernel.story == ["wwan initial wwan0.5"])
    #expect(kernel.carrier == "wwan0.5 wg0 wwan")
    #expect(kernel.published.last?.isExpensive == true)
  }
}
