import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct PortTests {
  static func onBridge(kind: String, ports: [NetworkEvent]) -> ScriptedKernel {
    var kernel = ScriptedKernel()
    kernel.facts = [.loopback, .link(2, "sw0", .up, kind: kind), .address(2, .ip("10.0.0.1"))] + ports
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
    kernel.start()
    return kernel
  }

  @Test(arguments: ["bridge", "bond", "team"])
  func `a switch needs a running port`(_ kind: String) {
    #expect(Self.onBridge(kind: kind, ports: []).story == ["not-reachable no_carrier -"])
    let dead = Self.onBridge(kind: kind, ports: [.link(3, "eth0", .noCarrier, master: 2)])
    #expect(dead.story == ["not-reachable no_carrier -"])
    let running = Self.onBridge(
      kind: kind, ports: [.link(3, "eth0", .noCarrier, master: 2), .link(4, "eth1", master: 2)])
    #expect(running.story == ["wifi initial sw0"])
  }

  @Test(arguments: ["vlan", "macvlan", "netkit"])
  func `other software links need none`(_ kind: String) {
    #expect(Self.onBridge(kind: kind, ports: []).story == ["wifi initial sw0"])
  }

  @Test func `the last running port takes the path with it, and brings it back`() {
    var kernel = Self.onBridge(kind: "bridge", ports: [.link(3, "eth0", master: 2), .link(4, "eth1", master: 2)])
    kernel.tell(.link(3, "eth0", .noCarrier, master: 2))
    #expect(kernel.story.last == "wifi interfaces sw0")
    kernel.tell(.link(4, "eth1", .noCarrier, master: 2))
    #expect(kernel.story.last == "not-reachable no_carrier -")
    kernel.tell(.link(3, "eth0", master: 2))
    #expect(kernel.story.last == "wifi route_up sw0")
    // The port was taken out of the bridge. It still runs, but the bridge has no running port.
    kernel.tell(.link(3, "eth0"))
    #expect(kernel.story.last == "not-reachable no_carrier -")
  }

  @Test func `a bond whose only port was deleted has no carrier`() {
    var kernel = Self.onBridge(kind: "bond", ports: [.link(3, "eth0", master: 2)])
    kernel.tell(.linkRemoved(index: 3))
    #expect(kernel.story.last == "not-reachable no_carrier -")
  }
}

@Suite struct NextHopTests {
  static func twoHops(
    first: LinkState, second: LinkState, _ configuration: MonitorConfiguration = MonitorConfiguration()
  ) -> ScriptedKernel {
    var kernel = ScriptedKernel(configuration)
    kernel.facts = [
      .loopback, .link(2, "eth0", first), .link(3, "eth1", second), .address(2, .ip("10.0.0.1")),
      .address(3, .ip("10.1.0.1")),
    ]
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
    kernel.answers[RouteRequest(.ipv4, .allHops)] = .hops([
      RouteHop(interfaceIndex: 2, gateway: .ip("10.0.0.254")), RouteHop(interfaceIndex: 3, gateway: .ip("10.1.0.254")),
    ])
    kernel.start()
    return kernel
  }

  @Test func `the hop that the kernel chose is taken where it carries`() {
    let kernel = Self.twoHops(first: .up, second: .up)
    #expect(kernel.story == ["wifi initial eth0"])
    #expect(!kernel.lookUps.contains(RouteRequest(.ipv4, .allHops)))
  }

  @Test(arguments: [LinkState.noCarrier, .dormant])
  func `another hop carries where the chosen one is dead`(_ state: LinkState) {
    let kernel = Self.twoHops(first: state, second: .up)
    #expect(kernel.story == ["wifi initial eth1"])
    #expect(kernel.published.first?.ipv4?.gateway == .ip("10.1.0.254"))
    #expect(kernel.published.first?.ipv4?.address == .ip("10.1.0.1"))
  }

  @Test func `over a link without an address, a socket takes that of another link`() {
    var kernel = Self.twoHops(first: .up, second: .up)
    kernel.tell(.addressRemoved(index: 3, .ip("10.1.0.1"), prefixLength: 24))
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.story.last == "wifi interface_changed eth1")
    #expect(kernel.published.last?.ipv4?.address == .ip("10.0.0.1"))
  }

  @Test(arguments: [(LinkState.noCarrier, "no_carrier"), (.dormant, "dormant")])
  func `with all hops dead the chosen one is to blame`(_ state: LinkState, _ reason: String) {
    #expect(Self.twoHops(first: state, second: .noCarrier).story == ["not-reachable \(reason) -"])
  }

  @Test func `a pulled cable moves the path to the other hop and back`() {
    var kernel = Self.twoHops(first: .up, second: .up)
    kernel.tell(.link(2, "eth0", .noCarrier))
    kernel.tell(.link(2, "eth0", .up))
    #expect(kernel.story == ["wifi initial eth0", "wifi interface_changed eth1", "wifi interface_changed eth0"])
  }

  @Test func `all hops are asked for once in a turn, for the family that failed`() {
    var kernel = Self.twoHops(first: .up, second: .up)
    kernel.forget()
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(
      kernel.lookUps == [.ipv4, .ipv6, RouteRequest(.ipv4, .allHops), .ipv6Last]
        // The other hop is asked about for its source, and then all routers that the kernel could also take.
        + [3, 2, 3].map { .init(.ipv4, .link($0)) })
  }

  // MARK: All links that carry traffic

  private static let findsAll = {
    var configuration = MonitorConfiguration()
    configuration.findsAllCarriers = true
    return configuration
  }()

  private func carriers(_ kernel: ScriptedKernel) -> [Int32]? { kernel.published.last?.carriers.map(\.index) }

  @Test func `all hops that carry are found, and no person is told when one of them changes`() {
    var kernel = Self.twoHops(first: .up, second: .up, Self.findsAll)
    #expect(carriers(kernel) == [2, 3])
    kernel.tell(.link(3, "eth1", .noCarrier))
    #expect(carriers(kernel) == [2])
    kernel.tell(.link(3, "eth1", .up))
    #expect(carriers(kernel) == [2, 3])
    #expect(Set(kernel.changes.dropFirst()) == [.carriers, .interfaces])
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.story.last == "wifi interface_changed eth1")
    #expect(carriers(kernel) == [3])
    kernel.tell(.link(3, "eth1", .noCarrier))
    #expect(carriers(kernel) == [])
  }

  @Test func `a hop that the kernel does not use, and one whose link does not count, carry nothing`() {
    var dead = Self.twoHops(first: .up, second: .up, Self.findsAll)
    var hop = RouteHop(interfaceIndex: 3, gateway: .ip("10.1.0.254"))
    hop.isDead = true
    dead.answers[RouteRequest(.ipv4, .allHops)] = .hops([RouteHop(interfaceIndex: 2, gateway: .ip("10.0.0.254")), hop])
    dead.tell(.routing(.ipv4, isRemoval: false))
    #expect(carriers(dead) == [2])
    var configuration = Self.findsAll
    configuration.includesInterface = { $0 != "eth1" }
    #expect(carriers(Self.twoHops(first: .up, second: .up, configuration)) == [2])
  }

  @Test func `the link of IPv6 carries too where it differs`() {
    var kernel = ScriptedKernel(Self.findsAll)
    kernel.facts = [
      .loopback, .link(2, "eth0"), .link(3, "wlan0"), .address(2, .ip("10.0.0.1")), .address(3, .ip("2001:db8::1")),
    ]
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
    kernel.answers[.ipv6] = .via(3, .ip("fe80::1"), from: .ip("2001:db8::1"))
    kernel.start()
    #expect(kernel.published.last?.interfaceIndex == 2)
    #expect(carriers(kernel) == [2, 3])
  }

  @Test func `while a loss is held back, the links of the path stay`() {
    var configuration = Self.findsAll
    configuration.hold = .seconds(1)
    var kernel = Self.twoHops(first: .up, second: .up, configuration)
    kernel.tell(.link(2, "eth0", .noCarrier), .link(3, "eth1", .noCarrier))
    kernel.tell(.link(2, "eth0", .up), .link(3, "eth1", .up))
    #expect(carriers(kernel) == [2, 3])
    #expect(!kernel.changes.contains(.reachability))
  }
}
