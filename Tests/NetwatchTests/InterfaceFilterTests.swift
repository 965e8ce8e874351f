import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct InterfaceFilterTests {
  static func configuration(_ names: Set<String>) -> MonitorConfiguration {
    var configuration = MonitorConfiguration()
    configuration.includesInterface = { names.contains($0) }
    return configuration
  }

  static func link(_ index: Int32) -> RouteRequest { RouteRequest(.ipv4, .link(index)) }

  /// Returns a kernel that prefers eth0. wlan0, wwan0 and eth1 have routes of their own.
  static func kernel(_ names: Set<String>, start: Bool = true) -> ScriptedKernel {
    var kernel = ScriptedKernel(configuration(names))
    kernel.facts = [
      .loopback, .link(2, "eth0"), .link(3, "wlan0", device: DeviceTraits(isWireless: true)),
      .link(4, "wwan0", .unknown, kind: "wwan"), .link(5, "eth1", .noCarrier), .address(2, .ip("10.0.0.1")),
      .address(3, .ip("10.1.0.1")), .address(4, .ip("10.2.0.1")), .address(5, .ip("10.3.0.1")),
    ]
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"), metric: 100)
    kernel.answers[link(3)] = .via(3, .ip("10.1.0.254"), from: nil, metric: 600)
    kernel.answers[link(4)] = .via(4, .ip("10.2.0.254"), from: nil, metric: 700)
    kernel.answers[link(5)] = .via(5, .ip("10.3.0.254"), from: nil, metric: 50)
    if start { kernel.start() }
    return kernel
  }

  @Test func `no other link is asked if the kernel's choice passes the filter`() {
    let kernel = Self.kernel(["eth0", "wlan0"])
    #expect(kernel.story == ["wifi initial eth0"])
    let published = kernel.outputs.firstIndex { if case .publish = $0 { true } else { false } } ?? 0
    let others = kernel.lookUps.filter { if case .link = $0.scope { true } else { false } }
    // Other links are asked about only after the path is published, to find the routers that the kernel could change
    // to.
    #expect(others.allSatisfy { kernel.position(of: $0) ?? 0 > published })
    #expect(Set(kernel.lookUps).subtracting(others) == [.ipv4, .beneath(.ipv4, .rules), .ipv6, .ipv6Last])
  }

  @Test func `the links that count are asked one by one, and the lowest metric that carries wins`() {
    var kernel = Self.kernel(["wlan0", "wwan0", "eth1"])
    #expect(kernel.story == ["wifi initial wlan0"])
    let rules = RouteRequest.beneath(.ipv4, .rules)
    let links = [3, 4, 5].map(Self.link)
    #expect(Set(kernel.lookUps).subtracting([Self.link(2)]) == Set([.ipv4, rules, .ipv6, .ipv6Last] + links))
    #expect(kernel.published.first?.ipv4?.address == .ip("10.1.0.1"))
    kernel.forget()
    kernel.answers[Self.link(4)] = .via(4, .ip("10.2.0.254"), from: nil, metric: 60)
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story == ["wwan medium_changed wwan0"])
  }

  @Test func `equal metrics are settled by index`() {
    var kernel = Self.kernel(["wlan0", "wwan0"], start: false)
    kernel.answers[Self.link(4)] = .via(4, nil, from: nil, metric: 600)
    kernel.start()
    #expect(kernel.story == ["wifi initial wlan0"])
  }

  @Test func `without a link that counts there is no route`() {
    #expect(Self.kernel([]).story == ["not-reachable no_route -"])
  }

  @Test func `of dead links that count the best one names the cause, and one that is off is not asked`() {
    var kernel = Self.kernel(["eth1", "wlan0"], start: false)
    kernel.facts.append(.link(3, "wlan0", .dormant))
    kernel.start()
    #expect(kernel.story == ["not-reachable no_carrier -"])
    kernel.forget()
    kernel.tell(.link(5, "eth1", .down))
    #expect(!kernel.lookUps.contains(Self.link(5)))
    kernel.tell(.link(3, "wlan0"))
    #expect(kernel.story.last == "wifi route_up wlan0")
  }

  @Test func `a link that counts and goes down is lost as such`() {
    var kernel = Self.kernel(["wlan0"])
    kernel.answers[Self.link(3)] = .noRoute
    kernel.tell(.link(3, "wlan0", .down))
    #expect(kernel.story.last == "not-reachable link_down -")
  }

  @Test func `a best way without an address yields to the next one`() {
    var kernel = Self.kernel(["wlan0", "wwan0"])
    kernel.tell(.noAddress(3, .ip("10.1.0.1")))
    #expect(kernel.story.last == "wwan medium_changed wwan0")
  }

  @Test func `a link that is renamed into the filter counts from then on`() {
    var kernel = Self.kernel(["uplink"])
    #expect(kernel.story == ["not-reachable no_route -"])
    kernel.tell(.link(2, "uplink"))
    #expect(kernel.story.last == "wifi route_up uplink")
    kernel.tell(.link(2, "eth0"))
    #expect(kernel.published.last?.status == .notReachable)
  }

  @Test func `ways found for one family do not leak into the next inquiry`() {
    var kernel = Self.kernel(["wlan0"])
    kernel.answers[Self.link(3)] = .noRoute
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story.last == "not-reachable no_route -")
  }

  @Test func `of a route with several hops the one over the link counts`() {
    var kernel = Self.kernel(["wlan0", "wwan0"], start: false)
    let hops = RouteAnswer.hops([
      RouteHop(interfaceIndex: 2, gateway: .ip("10.0.0.254")), RouteHop(interfaceIndex: 3, gateway: .ip("10.1.0.254")),
    ])
    kernel.answers[Self.link(3)] = hops
    kernel.answers[Self.link(4)] = .noRoute
    kernel.start()
    #expect(kernel.story == ["wifi initial wlan0"])
    #expect(kernel.published.first?.gateways == [.ip("10.1.0.254")])
  }
}
