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
  static func twoHops(first: LinkState, second: LinkState) -> ScriptedKernel {
    var kernel = ScriptedKernel()
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
}
