import Netwatch
import NetwatchTestSupport
import Testing

@Suite struct HostTargetTests {
  static let office = InternetAddress.ip("203.0.113.7")
  static let branch = InternetAddress.ip("203.0.113.8")
  static let office6 = InternetAddress.ip("2001:db8:7::7")

  static func configuration(hold: Duration = .zero) throws -> MonitorConfiguration {
    var configuration = MonitorConfiguration()
    configuration.target = try NetworkTarget("office.example")
    configuration.hold = hold
    return configuration
  }

  /// Returns a kernel with eth0 and eth1. The host's first IPv4 address has the route `first`, its second one `second`,
  /// and its IPv6 address `ipv6`.
  static func kernel(
    hold: Duration = .zero, _ first: RouteAnswer = viaFirst, _ second: RouteAnswer = .noRoute,
    ipv6: RouteAnswer = .noRoute
  ) throws -> ScriptedKernel {
    var kernel = ScriptedKernel(try configuration(hold: hold))
    kernel.facts = [
      .loopback, .link(2, "eth0"), .link(3, "eth1"), .address(2, .ip("10.0.0.1")), .address(3, .ip("10.1.0.1")),
      .address(3, .ip("2001:db8:1::1"), 64),
    ]
    kernel.answers[.ipv4] = first
    kernel.answers[RouteRequest(.ipv4, to: 1)] = second
    kernel.answers[.ipv6] = ipv6
    return kernel
  }

  static let viaFirst = RouteAnswer.via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
  static let viaSecond = RouteAnswer.via(3, .ip("10.1.0.254"), from: .ip("10.1.0.1"))
  static let viaSecond6 = RouteAnswer.via(3, .ip("fe80::1"), from: .ip("2001:db8:1::1"))

  /// Returns a kernel in which the host has been known and reachable for a hundred seconds.
  static func reachable(
    hold: Duration = .zero, _ addresses: [InternetAddress] = [office], _ first: RouteAnswer = viaFirst,
    _ second: RouteAnswer = .noRoute
  ) throws -> ScriptedKernel {
    var kernel = try kernel(hold: hold, first, second)
    kernel.start()
    kernel.handle(.resolved(addresses))
    kernel.advance(by: .seconds(100))
    kernel.forget()
    return kernel
  }

  @Test func `a name that a filter answers with zeros is asked for as programs would connect`() throws {
    var kernel = try Self.kernel(.own, ipv6: Self.viaSecond6)
    kernel.answers[RouteRequest(.ipv6)] = .own
    kernel.start()
    kernel.handle(.resolved([.v4(0), .v6(0)]))
    #expect(kernel.machine.destinations.all == [.v4(0), .v6(1)])
  }

  // MARK: The first path

  @Test func `nothing is asked or published before the name is known`() throws {
    var kernel = try Self.kernel()
    kernel.start()
    #expect(kernel.published.isEmpty && kernel.lookUps.isEmpty)
    #expect(kernel.timers == [.resolution: .seconds(2)])
    kernel.advance(by: .milliseconds(1_999))
    #expect(kernel.published.isEmpty)
    kernel.handle(.resolved([Self.office]))
    #expect(kernel.story == ["wifi initial eth0"])
    #expect(kernel.changes == [.initial])
    #expect(
      Set(kernel.lookUps) == Set([.ipv4, .beneath(.ipv4, .rules)] + [2, 3].map { RouteRequest(.ipv4, .link($0)) }))
    // No timer is left to wake up for.
    #expect(kernel.timers.isEmpty)
    kernel.advance(by: .seconds(60))
    #expect(kernel.published.count == 1)
  }

  @Test func `a name without an address is told as soon as that is known`() throws {
    var kernel = try Self.kernel()
    kernel.start()
    kernel.handle(.resolved([]))
    #expect(kernel.story == ["not-reachable unresolved -"])
    #expect(kernel.changes == [.initial])
    kernel.advance(by: .seconds(60))
    #expect(kernel.published.count == 1)
  }

  @Test func `after two seconds without an answer the host is unknown, and may become anything`() throws {
    var kernel = try Self.kernel()
    kernel.start()
    kernel.advance(by: .seconds(2))
    #expect(kernel.story == ["unknown unresolved -"])
    #expect(kernel.changes == [.initial])
    // A result that changes nothing is not published. Another result is.
    kernel.handle(.unresolved)
    #expect(kernel.published.count == 1)
    kernel.handle(.resolved([]))
    #expect(kernel.story.last == "not-reachable unresolved -")
    kernel.handle(.unresolved)
    #expect(kernel.published.count == 2)
    kernel.handle(.resolved([Self.office]))
    #expect(kernel.story.last == "wifi route_up eth0")
  }

  @Test func `that nobody answers is told at once, and stays so whatever the network does`() throws {
    var kernel = try Self.kernel()
    kernel.start()
    kernel.handle(.unresolved)
    #expect(kernel.story == ["unknown unresolved -"])
    #expect(kernel.timers.isEmpty)
    kernel.tell(.link(2, "eth0", .noCarrier), .routing(.ipv4, isRemoval: true))
    kernel.tell(.link(2, "eth0", .up), .routing(.ipv4, isRemoval: false))
    kernel.handle(.resumed)
    kernel.handle(.drained)
    #expect(kernel.changes.filter { $0 != .interfaces } == [.initial])
    kernel.handle(.resolved([Self.office]))
    #expect(kernel.story.last == "wifi route_up eth0")
    // Addresses that were found once stay in use while no server answers.
    kernel.handle(.unresolved)
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.story.last == "not-reachable no_carrier -")
  }

  @Test func `the two seconds are counted once, whatever the network does meanwhile`() throws {
    var kernel = try Self.kernel()
    kernel.start()
    for _ in 0..<4 {
      kernel.advance(by: .milliseconds(400))
      kernel.tell(.link(3, "eth1", .noCarrier), .routing(.ipv4, isRemoval: false))
    }
    #expect(kernel.timers == [.resolution: .seconds(2)])
    kernel.advance(by: .milliseconds(400))
    #expect(kernel.story == ["unknown unresolved -"])
  }

  @Test func `a listing that is not whole yet is waited for`() throws {
    var kernel = try Self.kernel()
    kernel.interruptions = 9
    kernel.start()
    #expect(kernel.machine.isDumping)
    kernel.handle(.resolved([Self.office]))
    #expect(kernel.published.isEmpty)
    kernel.advance(by: .seconds(1))
    #expect(kernel.story == ["wifi initial eth0"])
  }

  // MARK: Asking for the name again

  @Test func `the name is asked for again when the network changes while it is not known`() throws {
    var kernel = try Self.kernel()
    kernel.start()
    // The name has just been asked for, and nothing has changed since.
    #expect(kernel.resolves == 0)
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.resolves == 1)
    // The name is asked for once for each change.
    kernel.handle(.drained)
    #expect(kernel.resolves == 1)
    kernel.handle(.resolved([]))
    #expect(kernel.resolves == 1)
    kernel.tell(.address(2, .ip("10.0.0.2")))
    #expect(kernel.resolves == 2)
    kernel.handle(.resumed)
    kernel.handle(.drained)
    #expect(kernel.resolves == 3)
    #expect(kernel.changes.filter { $0 != .interfaces } == [.initial])
    kernel.handle(.resolved([Self.office]))
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.resolves == 3)
  }

  // MARK: Addresses

  @Test func `the routes of new addresses are watched, those of the same ones already are`() throws {
    var kernel = try Self.reachable()
    #expect(kernel.watch.addresses == [Self.office])
    kernel.handle(.resolved([Self.office]))
    #expect(kernel.watches.isEmpty)
    #expect(kernel.published.isEmpty)
    kernel.forget()
    kernel.handle(.resolved([Self.branch, Self.office6]))
    #expect(kernel.watches.count == 1)
    #expect(kernel.watch.addresses == [Self.branch, Self.office6])
    // The watch comes before the questions, which would otherwise be about the old addresses.
    #expect(kernel.watches.first ?? .max < kernel.position(of: .ipv4) ?? 0)
  }

  @Test func `no answer about an old address is taken for one about a new one`() throws {
    var kernel = try Self.reachable([Self.office, Self.branch], .noRoute, Self.viaSecond)
    kernel.handle(.resolved([Self.office]))
    #expect(kernel.story == ["not-reachable no_route -"])
    kernel.handle(.resolved([Self.office6]))
    let source = RouteRequest(.ipv6, .from(.ip("2001:db8:1::1")))
    #expect(kernel.lookUps.suffix(3) == [.ipv6, .beneath(.ipv6, .rules), source])
    #expect(kernel.story == ["not-reachable no_route -"])
  }

  @Test func `the first good address wins, and a later one saves the path`() throws {
    var kernel = try Self.reachable([Self.office, Self.branch], Self.viaFirst, Self.viaSecond)
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.story == ["wifi interface_changed eth1"])
    kernel.tell(.link(2, "eth0"))
    #expect(kernel.story.last == "wifi interface_changed eth0")
    kernel.tell(.link(2, "eth0", .noCarrier), .link(3, "eth1", .noCarrier))
    #expect(kernel.story.last == "not-reachable no_carrier -")
  }

  @Test func `of several bad addresses the first one names the cause`() throws {
    var kernel = try Self.kernel(.refused, .noRoute)
    kernel.start()
    kernel.handle(.resolved([Self.office, Self.branch]))
    #expect(kernel.story == ["not-reachable route_unreachable -"])
  }

  @Test func `one family is enough, and IPv4 names the link`() throws {
    var kernel = try Self.kernel(ipv6: Self.viaSecond6)
    kernel.start()
    kernel.handle(.resolved([Self.office6, Self.office]))
    #expect(kernel.story == ["wifi initial eth0"])
    #expect(kernel.published.first?.ipv6?.address == .ip("2001:db8:1::1"))
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.story.last == "wifi interface_changed eth1")
    kernel.handle(.resolved([Self.office]))
    #expect(kernel.story.last == "not-reachable no_carrier -")
  }

  @Test func `beneath a tunnel every address is asked for, and what carries it once`() throws {
    var kernel = try Self.kernel(
      .via(4, nil, from: .ip("10.8.0.2")), .via(4, nil, from: .ip("10.8.0.2")))
    kernel.facts += [.link(4, "tun0", .unknown, kind: "tun", hardwareType: 0xfffe), .address(4, .ip("10.8.0.2"))]
    let beneath = RouteRequest(.ipv4, .link(2), to: RouteRequest.internet)
    kernel.answers[beneath] = .via(2, .ip("10.0.0.254"), from: nil)
    kernel.start()
    kernel.handle(.resolved([Self.office, Self.branch]))
    #expect(kernel.story == ["wifi initial eth0"])
    #expect(kernel.published.first?.vpn?.interfaceName == "tun0")
    // The question is asked once in each round. There is a second round because the router is watched only since the
    // first answers.
    #expect(kernel.lookUps.count { $0 == beneath } == 2)
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.story.last == "not-reachable no_carrier -")
    kernel.handle(.resolved([]))
    #expect(kernel.published.count == 2)
    kernel.tell(.link(2, "eth0"))
    kernel.handle(.resolved([Self.branch]))
    #expect(kernel.story.last == "wifi route_up eth0")
  }

  // MARK: Losing the name

  @Test func `a name that is gone takes the path with it`() throws {
    var kernel = try Self.reachable()
    kernel.handle(.resolved([]))
    #expect(kernel.story == ["not-reachable unresolved -"])
    #expect(kernel.resolves == 0)
    kernel.handle(.resolved([Self.office]))
    #expect(kernel.story.last == "wifi route_up eth0")
  }

  @Test func `a hold keeps a name that is gone from being told`() throws {
    var kernel = try Self.reachable(hold: .seconds(5))
    kernel.handle(.resolved([]))
    #expect(kernel.published.isEmpty)
    #expect(kernel.timers == [.hold: .seconds(105)])
    kernel.advance(by: .seconds(4))
    kernel.handle(.resolved([Self.office]))
    #expect(kernel.timers.isEmpty)
    kernel.advance(by: .seconds(60))
    #expect(kernel.published.isEmpty)
    kernel.handle(.resolved([]))
    kernel.advance(by: .seconds(5))
    #expect(kernel.story == ["not-reachable unresolved -"])
  }

  @Test func `a lost name is named by the hold, though the cable is pulled after it`() throws {
    var kernel = try Self.reachable(hold: .seconds(5))
    kernel.handle(.resolved([]))
    kernel.advance(by: .seconds(1))
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.timers == [.hold: .seconds(105)])
    kernel.advance(by: .seconds(4))
    #expect(kernel.story.last == "not-reachable unresolved -")
  }
}
