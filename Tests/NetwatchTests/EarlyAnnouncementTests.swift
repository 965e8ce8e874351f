import Netwatch
import NetwatchTestSupport
import Testing

/// The kernel announces some changes before it makes them, and sends no other message when it makes them.
@Suite struct EarlyAnnouncementTests {
  static let removals: [NetworkEvent] = [
    .routing(.ipv4, isRemoval: true), .noAddress(2, .ip("10.0.0.9")), .link(3, "eth1", .down), .linkRemoved(index: 3),
  ]

  static func kernel() -> ScriptedKernel {
    var kernel = ScriptedKernel.online()
    kernel.tell(.address(2, .ip("10.0.0.9")), .link(3, "eth1"))
    kernel.forget()
    return kernel
  }

  @Test(arguments: removals)
  func `an answer that a removal left unchanged is asked for once more`(_ removal: NetworkEvent) {
    var kernel = Self.kernel()
    kernel.tell(removal)
    #expect(kernel.settles == 1)
    #expect(kernel.lookUps.count { $0 == .ipv4 } == 2)
    kernel.forget()
    kernel.handle(.drained)
    #expect(kernel.outputs.isEmpty)
  }

  @Test(arguments: removals)
  func `what was done while settling is published`(_ removal: NetworkEvent) {
    var kernel = Self.kernel()
    kernel.onSettle = { $0.answers[.ipv4] = .noRoute }
    kernel.tell(removal)
    #expect(kernel.story.first == "not-reachable no_route -")
    #expect(kernel.published.count == 1)
  }

  /// The kernel announces an IPv4 address before the routes forget the source that they chose without the address.
  @Test func `a source that is new while settling is published`() {
    var kernel = Self.kernel()
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .unspecified(.ipv4))
    kernel.tell(.noAddress(2, .ip("10.0.0.1")), .noAddress(2, .ip("10.0.0.9")))
    #expect(kernel.story == ["not-reachable no_address -"])
    kernel.forget()
    kernel.onSettle = { $0.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.2")) }
    kernel.tell(.address(2, .ip("10.0.0.2")))
    #expect(kernel.settles == 1)
    #expect(kernel.story == ["wifi route_up eth0"])
  }

  @Test func `an answer that has changed is believed`() {
    var kernel = Self.kernel()
    kernel.answers[.ipv4] = .noRoute
    kernel.tell(.routing(.ipv4, isRemoval: true))
    #expect(kernel.settles == 0)
    #expect(kernel.story == ["not-reachable no_route -"])
  }

  @Test func `an answer after an addition is not asked for again`() {
    var kernel = Self.kernel()
    kernel.tell(.routing(.both, isRemoval: false), .address(2, .ip("10.0.0.10")), .link(4, "eth2", .noCarrier))
    kernel.tell(.link(4, "eth2"))
    // A new link that is on counts as one that was switched on, and an IPv4 address is announced early. The kernel
    // finishes both later.
    #expect(kernel.settles <= 1)
    kernel.forget()
    kernel.tell(.routing(.both, isRemoval: false))
    #expect(kernel.settles == 0)
  }

  @Test func `a change of one family does not vouch for the other`() {
    var kernel = ScriptedKernel.onlineTwice()
    kernel.forget()
    // The answer for IPv4 has already changed; the answer for IPv6 is about to change.
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.253"), from: .ip("10.0.0.1"))
    kernel.onSettle = { $0.answers[.ipv6] = .noRoute }
    kernel.tell(.routing(.ipv4, isRemoval: false), .routing(.ipv6, isRemoval: true))
    #expect(kernel.published.last?.ipv6 == nil)
    #expect(kernel.published.count == 1)
  }

  @Test func `an answer over a link that is switched off is asked for once more`() {
    var kernel = Self.kernel()
    kernel.onSettle = { $0.answers[.ipv4] = .noRoute }
    kernel.tell(.link(2, "eth0", .down))
    #expect(kernel.settles == 1)
    #expect(kernel.story == ["not-reachable link_down -"])
  }

  @Test func `an answer from a source that is gone is asked for once more`() {
    var kernel = Self.kernel()
    kernel.onSettle = { $0.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.9")) }
    kernel.tell(.noAddress(2, .ip("10.0.0.1")))
    #expect(kernel.settles == 1)
    #expect(kernel.story == ["wifi address_changed eth0"])
  }

  @Test func `another hop that carries does not make up for a contradiction`() {
    var kernel = Self.kernel()
    kernel.tell(.address(3, .ip("10.1.0.1")))
    kernel.forget()
    kernel.answers[RouteRequest(.ipv4, .allHops)] = .hops([RouteHop(interfaceIndex: 2), RouteHop(interfaceIndex: 3)])
    kernel.onSettle = { $0.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.9")) }
    kernel.tell(.noAddress(2, .ip("10.0.0.1")), .noAddress(2, .ip("10.0.0.9")), .address(2, .ip("10.0.0.9"), 16))
    #expect(kernel.settles == 1)
    #expect(kernel.story == ["wifi address_changed eth0"])
  }

  @Test func `an answer that still contradicts the facts is believed after one listing`() {
    var kernel = Self.kernel()
    kernel.answers[.ipv4] = .via(77, nil, from: .ip("10.0.0.1"))
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.settles == 2)
    #expect(kernel.listings == 1)
    #expect(kernel.story == ["not-reachable link_down -"])
  }

  /// The test follows the kernel's IPv6: a new address is a source at once, but its message waits for a work queue.
  @Test func `an address that is used before it is told of is read, and nothing is lost meanwhile`() {
    var kernel = Self.kernel()
    kernel.facts += [.link(3, "eth1"), .address(3, .ip("10.1.0.1"))]
    kernel.answers[.ipv4] = .via(3, .ip("10.1.0.254"), from: .ip("10.1.0.1"))
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.listings == 1)
    #expect(kernel.story == ["wifi interface_changed eth1"])
    kernel.forget()
    kernel.tell(.address(3, .ip("10.1.0.1")))
    #expect(kernel.listings == 0)
    #expect(kernel.story.isEmpty)
  }

  @Test func `an unknown source address causes one listing, until there is another source`() {
    var kernel = Self.kernel()
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.9.0.9"))
    kernel.tell(.routing(.ipv4, isRemoval: false))
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.listings == 1)
    #expect(kernel.story == ["not-reachable no_address -"])
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
    kernel.tell(.routing(.ipv4, isRemoval: false))
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.9.0.9"))
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.listings == 2)
    #expect(kernel.story == ["not-reachable no_address -", "wifi route_up eth0", "not-reachable no_address -"])
  }

  @Test func `a link that is switched on gets its routes a moment later`() {
    var kernel = ScriptedKernel()
    kernel.facts = [.loopback, .link(2, "eth0", .down), .address(2, .ip("10.0.0.1"))]
    kernel.start()
    kernel.onSettle = { $0.answers[.ipv4] = .via(2, nil, from: .ip("10.0.0.1")) }
    kernel.tell(.link(2, "eth0", .up))
    #expect(kernel.story.last == "wifi route_up eth0")
  }
}
