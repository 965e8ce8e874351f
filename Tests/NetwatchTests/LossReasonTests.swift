import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct LossReasonTests {
  struct Loss: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let events: [NetworkEvent]
    var answer: RouteAnswer? = nil
    let reason: ReachabilityReason
  }

  static let address = InternetAddress.ip("10.0.0.1")

  @Test(arguments: [
    Loss(testDescription: "switched off", events: [.link(2, "eth0", .down)], answer: .noRoute, reason: .linkDown),
    Loss(testDescription: "deleted", events: [.linkRemoved(index: 2)], answer: .noRoute, reason: .linkDown),
    Loss(testDescription: "pulled cable, the route stays", events: [.link(2, "eth0", .noCarrier)], reason: .noCarrier),
    Loss(
      testDescription: "pulled cable, the route goes too", events: [.link(2, "eth0", .noCarrier)], answer: .noRoute,
      reason: .noCarrier),
    Loss(testDescription: "dormant", events: [.link(2, "eth0", .dormant)], reason: .dormant),
    Loss(testDescription: "address", events: [.noAddress(2, address)], answer: .noRoute, reason: .noAddress),
    Loss(testDescription: "address, the route stays", events: [.noAddress(2, address)], reason: .noAddress),
    Loss(
      testDescription: "address becomes a duplicate",
      events: [.address(2, address, flags: InterfaceAddress.duplicateFlag)], reason: .noAddress),
    Loss(
      testDescription: "route", events: [.routing(.ipv4, isRemoval: true)], answer: .noRoute, reason: .noRoute),
    Loss(
      testDescription: "refusing route", events: [.routing(.ipv4, isRemoval: false)], answer: .refused,
      reason: .routeUnreachable),
    Loss(
      testDescription: "switched off and address gone in one turn",
      events: [.noAddress(2, address), .link(2, "eth0", .down)], answer: .noRoute, reason: .linkDown),
    Loss(
      testDescription: "no cable and address gone in one turn",
      events: [.noAddress(2, address), .link(2, "eth0", .noCarrier)], answer: .noRoute, reason: .noCarrier),
  ])
  func `the reason of a loss names what took the link away`(_ loss: Loss) {
    var kernel = ScriptedKernel.online()
    kernel.forget()
    if let answer = loss.answer { kernel.answers[.ipv4] = answer }
    if loss.events.contains(.noAddress(2, Self.address)) { kernel.facts.removeAll { $0 == .address(2, Self.address) } }
    for event in loss.events { kernel.handle(.fact(event)) }
    #expect(kernel.published.isEmpty)
    kernel.handle(.drained)
    #expect(kernel.published.map(\.reason) == [loss.reason])
    #expect(kernel.published.map(\.verdict) == [.notReachable])
    #expect(kernel.changes == [.reachability])
  }

  @Test func `testing and not present carry nothing`() {
    for state in [OperationalState.testing, .notPresent, .down] {
      var kernel = ScriptedKernel.online()
      var fact = LinkUpdate(2, "eth0")
      fact.operationalState = state
      kernel.tell(.link(fact))
      #expect(kernel.story.last == "not-reachable no_carrier -")
    }
  }

  @Test func `a link without IFF_RUNNING carries nothing, whatever its operational state`() {
    var kernel = ScriptedKernel.online()
    var fact = LinkUpdate(2, "eth0")
    fact.flags &= ~Interface.runningFlag
    kernel.tell(.link(fact))
    #expect(kernel.story.last == "not-reachable no_carrier -")
  }

  @Test func `a dead link is not left for a second default that the kernel would not use`() {
    var kernel = ScriptedKernel.online()
    kernel.answers[RouteRequest(.ipv4, .link(3))] = .via(3, nil, from: nil)
    kernel.tell(.link(3, "eth1"), .address(3, .ip("10.1.0.1")))
    kernel.forget()
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.story == ["not-reachable no_carrier -"])
    #expect(!kernel.lookUps.contains(RouteRequest(.ipv4, .link(3))))
  }

  @Test func `the route of an unnumbered link is lost as a route`() {
    var kernel = ScriptedKernel()
    kernel.facts = [
      .loopback, .link(2, "eth0"), .link(3, "dummy0", .unknown, kind: "dummy"), .address(3, .ip("203.0.113.5"), 32),
    ]
    kernel.answers[.ipv4] = .via(2, nil, from: .ip("203.0.113.5"))
    kernel.start()
    #expect(kernel.story == ["wifi initial eth0"])
    kernel.answers[.ipv4] = .noRoute
    kernel.tell(.routing(.ipv4, isRemoval: true))
    #expect(kernel.story.last == "not-reachable no_route -")
  }

  @Test func `losing the one family that was left names its link`() {
    var kernel = ScriptedKernel.onlineTwice()
    kernel.answers[.ipv4] = .noRoute
    kernel.tell(.noAddress(2, Self.address))
    #expect(kernel.story.last == "wifi address_changed eth0")
    kernel.answers[.ipv6] = .noRoute
    kernel.tell(.noAddress(2, .ip("2001:db8:1::1"), 64))
    #expect(kernel.story.last == "not-reachable no_address -")
  }
}
