import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct FirstPathTests {
  @Test func `a reachable machine begins with initial`() throws {
    let kernel = ScriptedKernel.onlineTwice()
    #expect(kernel.story == ["wifi initial eth0"])
    #expect(kernel.changes == [.initial])
    let path = try #require(kernel.published.first)
    #expect(path.medium == .wired)
    #expect(path.interfaceIndex == 2)
    #expect(path.interface?.name == "eth0")
    #expect(path.ipv4?.address == .ip("10.0.0.1"))
    #expect(path.ipv4?.gateway == .ip("10.0.0.254"))
    #expect(path.ipv6?.address == .ip("2001:db8:1::1"))
    #expect(path.gateways == [.ip("10.0.0.254"), .ip("fe80::1")])
    #expect(path.interfaces.map(\.name) == ["lo", "eth0"])
    #expect(!path.isExpensive && path.supportsIPv4 && path.supportsIPv6 && path.uses(.wired))
  }

  @Test func `an unreachable machine begins with the cause`() {
    var kernel = ScriptedKernel()
    kernel.facts = [.loopback]
    kernel.start()
    #expect(kernel.story == ["not-reachable no_route -"])
    #expect(kernel.changes == [.initial])
  }

  struct Case: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let facts: [NetworkEvent]
    let answer: RouteAnswer
    let reason: ReachabilityReason
  }

  static let route = RouteAnswer.via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"))

  @Test(arguments: [
    Case(testDescription: "no route", facts: [.link(2, "eth0")], answer: .noRoute, reason: .noRoute),
    Case(testDescription: "refused", facts: [.link(2, "eth0")], answer: .refused, reason: .routeUnreachable),
    Case(
      testDescription: "switched off", facts: [.link(2, "eth0", .down), .address(2, .ip("10.0.0.1"))], answer: route,
      reason: .linkDown),
    Case(
      testDescription: "no cable", facts: [.link(2, "eth0", .noCarrier), .address(2, .ip("10.0.0.1"))], answer: route,
      reason: .noCarrier),
    Case(
      testDescription: "dormant", facts: [.link(2, "eth0", .dormant), .address(2, .ip("10.0.0.1"))], answer: route,
      reason: .dormant),
    Case(testDescription: "no address", facts: [.link(2, "eth0")], answer: route, reason: .noAddress),
    Case(testDescription: "unknown link", facts: [], answer: route, reason: .linkDown),
    Case(
      testDescription: "over loopback", facts: [.address(1, .ip("10.0.0.1"))],
      answer: .via(1, nil, from: .ip("10.0.0.1")), reason: .noCarrier),
  ])
  func `the first cause`(_ sample: Case) {
    var kernel = ScriptedKernel()
    kernel.facts = [.loopback] + sample.facts
    kernel.answers[.ipv4] = sample.answer
    kernel.start()
    #expect(kernel.published.map(\.status) == [.notReachable])
    #expect(kernel.published.map(\.reason) == [sample.reason])
    #expect(kernel.published.allSatisfy { $0.medium == nil && $0.interfaceName == nil && $0.gateways.isEmpty })
  }

  @Test func `nothing is published before the first listing is whole`() {
    var kernel = ScriptedKernel()
    kernel.facts = [.loopback, .link(2, "eth0"), .address(2, .ip("10.0.0.1"))]
    kernel.answers[.ipv4] = Self.route
    kernel.interruptions = 3
    kernel.start()
    #expect(kernel.story == ["wifi initial eth0"])
    #expect(kernel.listings == 4)
    #expect(kernel.machine.statistics.interruptedListings == 3)
    #expect(kernel.machine.statistics.listings == 1)
    #expect(kernel.machine.statistics.transitions == 1)
  }

  @Test func `the internet is looked up at the documentation prefixes`() {
    #expect(Destinations.internet.ipv4.first == .ip("192.0.2.1"))
    #expect(Destinations.internet.ipv6.first == .ip("2001:db8::1"))
    #expect(Destinations(of: .address(.ip("1.1.1.1"), port: nil)).ipv6.isEmpty)
  }

  @Test(arguments: [("198.51.100.7", RouteRequest.ipv4), ("2001:db8:7::7", .ipv6)])
  func `a target of one family leaves the other one alone`(_ target: String, _ request: RouteRequest) {
    var configuration = MonitorConfiguration()
    configuration.target = .address(.ip(target), port: nil)
    var kernel = ScriptedKernel.onlineTwice(configuration)
    #expect(kernel.lookUps.allSatisfy { $0.family == request.family })
    #expect(kernel.lookUps.first == request)
    #expect(kernel.published.map { ($0.ipv4 != nil) == (request.family == .ipv4) } == [true])
    #expect(kernel.published.map { ($0.ipv6 != nil) == (request.family == .ipv6) } == [true])
    kernel.forget()
    kernel.tell(.routing(request.family == .ipv4 ? .ipv6 : .ipv4, isRemoval: false))
    #expect(kernel.outputs.isEmpty)
  }
}
