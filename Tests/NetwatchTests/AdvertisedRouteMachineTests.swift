import NetwatchTestSupport
import Testing

@testable import Netwatch

/// Routes that a router advertises. The kernel does not announce when such a route ends.
@Suite struct AdvertisedRouteMachineTests {
  static let lifetime = RouteRequest(.ipv6, .lifetime)

  static func route(_ gateway: String = "fe80::1", lifetime: UInt32 = 0) -> RouteAnswer {
    var hop = RouteHop(
      interfaceIndex: 2, gateway: .ip(gateway), source: lifetime == 0 ? .ip("2001:db8:1::1") : nil,
      origin: RouteHop.advertisementOrigin)
    hop.lifetime = lifetime
    return .hop(hop)
  }

  static func kernel(lifetime: UInt32) -> ScriptedKernel {
    var kernel = ScriptedKernel()
    kernel.facts = [.loopback, .link(2, "eth0"), .address(2, .ip("2001:db8:1::1"), 64)]
    kernel.answers[.ipv6] = route()
    kernel.answers[Self.lifetime] = route(lifetime: lifetime)
    kernel.start()
    return kernel
  }

  @Test func `the end is asked for after the first path, and looked for at its time`() {
    var kernel = Self.kernel(lifetime: 300)
    #expect(kernel.story == ["wifi initial eth0"])
    #expect(kernel.lookUps.last == Self.lifetime)
    #expect(kernel.timers[.expiry] == .seconds(3) + RouteEnd.slack)
    kernel.answers[.ipv6] = .noRoute
    kernel.advance(by: .seconds(2.9))
    #expect(kernel.story.count == 1)
    kernel.advance(by: .seconds(0.2))
    #expect(kernel.story.last == "not-reachable no_route -")
    #expect(kernel.timers[.expiry] == nil)
  }

  @Test func `a lifetime that was renewed without a word is found at the old end`() {
    var kernel = Self.kernel(lifetime: 300)
    kernel.forget()
    kernel.answers[Self.lifetime] = Self.route(lifetime: 100)
    kernel.advance(by: .seconds(3.1))
    #expect(kernel.published.isEmpty)
    #expect(kernel.lookUps == [.ipv6, Self.lifetime])
    #expect(kernel.timers[.expiry] == .seconds(4) + RouteEnd.slack * 2)
  }

  @Test func `an end that is less than a tick away is looked for again, and none that is over`() {
    var kernel = Self.kernel(lifetime: 300)
    // The timer fires too early by the time that passed between the event and the answer.
    kernel.answers[Self.lifetime] = Self.route(lifetime: 0)
    kernel.advance(by: .seconds(3) + RouteEnd.slack)
    #expect(kernel.timers[.expiry] == .seconds(3) + RouteEnd.slack * 2)
    // An announcement in the meantime does not move the timer.
    kernel.tell(.routing(.ipv6, isRemoval: false))
    #expect(kernel.timers[.expiry] == .seconds(3) + RouteEnd.slack * 2)
    // If the route has no lifetime at that time either, the router has withdrawn the end, and no timer is set.
    kernel.advance(by: RouteEnd.slack)
    #expect(kernel.timers[.expiry] == nil)
    #expect(kernel.story == ["wifi initial eth0"])
  }

  @Test func `it is asked for once, and again when the route is announced`() {
    var kernel = Self.kernel(lifetime: 300)
    kernel.forget()
    kernel.tell(.address(2, .ip("2001:db8:1::7"), 64))
    #expect(!kernel.lookUps.contains(Self.lifetime))
    kernel.tell(.routing(.ipv6, isRemoval: false))
    #expect(kernel.lookUps.count { $0 == Self.lifetime } == 1)
    kernel.answers[.ipv6] = Self.route("fe80::2")
    kernel.tell(.address(2, .ip("2001:db8:1::8"), 64))
    #expect(kernel.lookUps.count { $0 == Self.lifetime } == 2)
  }

  @Test func `without an end, or another route, no timer runs`() {
    var kernel = Self.kernel(lifetime: 0)
    #expect(kernel.timers[.expiry] == nil)
    kernel.answers[Self.lifetime] = Self.route(lifetime: 300)
    kernel.tell(.routing(.ipv6, isRemoval: false))
    #expect(kernel.timers[.expiry] != nil)
    kernel.answers[.ipv6] = .via(2, .ip("fe80::2"), from: .ip("2001:db8:1::1"))
    kernel.answers[Self.lifetime] = .via(2, .ip("fe80::2"), from: nil)
    kernel.tell(.routing(.ipv6, isRemoval: false))
    #expect(kernel.timers[.expiry] == nil)
  }

  @Test func `a route that nobody has advertised may end too`() {
    var kernel = Self.kernel(lifetime: 300)
    kernel.answers[.ipv6] = .via(2, .ip("fe80::1"), from: .ip("2001:db8:1::1"))
    kernel.answers[Self.lifetime] = Self.route(lifetime: 500)
    kernel.tell(.routing(.ipv6, isRemoval: false))
    #expect(kernel.timers[.expiry] == .seconds(5) + RouteEnd.slack)
    // The router is the only one, so nothing depends on whether it is alive.
    #expect(kernel.watch.routers.isEmpty)
  }

  @Test func `a renewed address asks for the end of the route again`() {
    var kernel = Self.kernel(lifetime: 300)
    kernel.tell(.address(2, .ip("2001:db8:1::1"), 64, flags: 0))
    kernel.forget()
    kernel.answers[Self.lifetime] = Self.route(lifetime: 100)
    // The kernel announces the same address with other lifetimes.
    kernel.tell(.address(2, .ip("2001:db8:1::1"), 64, flags: 0))
    #expect(kernel.lookUps == [Self.lifetime])
    #expect(kernel.timers[.expiry] == .seconds(1) + RouteEnd.slack)
    #expect(kernel.published.isEmpty)
  }

  @Test func `a router that dies before it is watched is missed too`() {
    var kernel = ScriptedKernel()
    kernel.facts = [.loopback, .link(2, "eth0"), .address(2, .ip("2001:db8:1::1"), 64)]
    kernel.answers[.ipv6] = Self.route()
    kernel.onWatch = { kernel in
      kernel.answers[.ipv6] = Self.route("fe80::2")
      kernel.onWatch = nil
    }
    kernel.start()
    #expect(kernel.story == ["wifi initial eth0", "wifi address_changed eth0"])
    #expect(kernel.published.last?.ipv6?.gateway == .ip("fe80::2"))
    // The kernel is not asked without end if it changes between two routers.
    kernel.onWatch = { kernel in
      let isFirst = kernel.watch.routers.first?.address == .ip("fe80::1")
      kernel.answers[.ipv6] = Self.route(isFirst ? "fe80::2" : "fe80::1")
    }
    kernel.forget()
    kernel.answers[.ipv6] = Self.route()
    kernel.tell(.routing(.ipv6, isRemoval: false))
    #expect(kernel.lookUps.count { $0 == .ipv6 } <= 3)
  }

  @Test func `a router counts as dead no more after messages were lost`() {
    var kernel = Self.kernel(lifetime: 0)
    let first = Neighbour(2, "fe80::1")
    kernel.tell(.neighbour(first, isDead: true))
    #expect(kernel.watch.otherRouters == [first])
    #expect(kernel.watch.routers.isEmpty)
    kernel.handle(.overrun)
    kernel.handle(.drained)
    #expect(kernel.watch.otherRouters.isEmpty)
    #expect(kernel.watch.routers == [first])
  }

  @Test func `a dead router is heard of after messages were lost, if another one is in use`() {
    var kernel = Self.kernel(lifetime: 0)
    let (first, second) = (Neighbour(2, "fe80::1"), Neighbour(2, "fe80::2"))
    kernel.answers[.ipv6] = Self.route("fe80::2")
    kernel.tell(.neighbour(first, isDead: true))
    kernel.handle(.overrun)
    kernel.handle(.drained)
    #expect(kernel.watch.routers == [second])
    #expect(kernel.watch.otherRouters == [first])
  }

  @Test func `a dead router that the kernel takes in place of a living one may die again`() {
    var kernel = Self.kernel(lifetime: 0)
    let (first, second) = (Neighbour(2, "fe80::1"), Neighbour(2, "fe80::2"))
    kernel.answers[.ipv6] = Self.route("fe80::2")
    kernel.tell(.neighbour(first, isDead: true))
    #expect(kernel.watch.routers == [second])
    // Another change comes while the kernel examines whether the first router is alive.
    kernel.answers[.ipv6] = Self.route("fe80::1")
    kernel.tell(.address(2, .ip("2001:db8:1::7"), 64))
    #expect(kernel.published.last?.ipv6?.gateway == .ip("fe80::1"))
    #expect(kernel.watch.routers == [first])
    #expect(kernel.watch.otherRouters.isEmpty)
    kernel.answers[.ipv6] = Self.route("fe80::2")
    kernel.tell(.neighbour(first, isDead: true))
    #expect(kernel.published.last?.ipv6?.gateway == .ip("fe80::2"))
    #expect(kernel.watch.routers == [second])
  }

  @Test func `of a dead router the first word counts, and its return`() {
    var kernel = Self.kernel(lifetime: 0)
    let (first, second) = (Neighbour(2, "fe80::1"), Neighbour(2, "fe80::2"))
    #expect(kernel.watch.routers == [first])
    #expect(kernel.watch.otherRouters.isEmpty)
    kernel.forget()
    kernel.answers[.ipv6] = Self.route("fe80::2")
    kernel.tell(.neighbour(first, isDead: true))
    #expect(kernel.story == ["wifi address_changed eth0"])
    #expect(kernel.published.last?.ipv6?.gateway == .ip("fe80::2"))
    #expect(kernel.watch.routers == [second])
    #expect(kernel.watch.otherRouters == [first])
    #expect(kernel.watches.count == 1)
    kernel.forget()
    for _ in 0..<5 { kernel.tell(.neighbour(first, isDead: true)) }
    #expect(kernel.outputs.isEmpty)
    kernel.tell(.neighbour(first, isDead: false))
    #expect(kernel.lookUps == [.ipv6])
    #expect(kernel.watch.routers == [second])
    #expect(kernel.watch.otherRouters.isEmpty)
    // If both routers are dead, the kernel changes between them. The machine does not follow.
    kernel.answers[.ipv6] = Self.route()
    kernel.tell(.neighbour(second, isDead: true))
    kernel.answers[.ipv6] = Self.route("fe80::2")
    kernel.tell(.neighbour(first, isDead: true))
    kernel.forget()
    for _ in 0..<5 { kernel.tell(.neighbour(first, isDead: true), .neighbour(second, isDead: true)) }
    #expect(kernel.outputs.isEmpty)
  }
}

extension Neighbour {
  init(_ index: Int32, _ address: String) { self.init(interfaceIndex: index, address: .ip(address)) }
}
