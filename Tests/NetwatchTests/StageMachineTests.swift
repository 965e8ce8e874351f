import NetwatchTestSupport
import Testing

@testable import Netwatch

/// Which stage of the way to the internet fails, according to what is known about each stage.
@Suite struct StageMachineTests {
  private static let router = Neighbour(interfaceIndex: 2, address: .ip("10.0.0.254"))
  private static let other = Neighbour(interfaceIndex: 2, address: .ip("fe80::1"))

  /// Returns a machine that knows the path that was published last, and one router.
  private static func online() throws -> StageMachine {
    var machine = StageMachine()
    _ = machine.handle(.path(try #require(ScriptedKernel.online().published.last), gateways: [router]))
    return machine
  }

  private static func hear(_ machine: inout StageMachine, _ states: NeighbourState..., of neighbour: Neighbour = router)
    -> Bool
  {
    for state in states { _ = machine.handle(.neighbour(neighbour, state)) }
    return machine.handle(.neighboursWereRead)
  }

  /// Fails if `isNews` differs from `expected`. A macro cannot call a function that changes the machine.
  private func expect(_ isNews: Bool, _ expected: Bool, _ location: SourceLocation = #_sourceLocation) {
    #expect(isNews == expected, sourceLocation: location)
  }

  // MARK: The gateway

  @Test func `a gateway is as the table of neighbours has it`() throws {
    for (state, evidence) in [
      (.reachable, .neighbourReachable), (.stale, .neighbourStale), (.incomplete, .neighbourUnresolved),
      (.failed, .neighbourFailed), (.permanent, .neighbourPermanent), (.absent, .neighbourUnresolved),
    ] as [(NeighbourState, StageFinding.Evidence)] {
      var machine = try Self.online()
      let isNews = Self.hear(&machine, state)
      #expect(machine.stages.gateway == StageFinding(evidence, Self.router.address))
      #expect(isNews == (state == .failed))
      #expect(machine.stages.failing == (state == .failed ? .gateway : nil))
      #expect(machine.unprovenGateways.isEmpty == (state == .reachable))
    }
  }

  @Test func `a gateway that has failed stays so until it is heard of`() throws {
    var machine = try Self.online()
    expect(Self.hear(&machine, .failed), true)
    for state in [.incomplete, .failed, .stale, .incomplete, .failed] as [NeighbourState] {
      expect(Self.hear(&machine, state), false)
      #expect(machine.stages.gateway.evidence == .neighbourFailed)
    }
    // The kernel forgets entries of neighbours that nobody uses.
    expect(Self.hear(&machine, .absent), false)
    #expect(machine.stages.failing == .gateway)
    expect(Self.hear(&machine, .reachable), true)
    #expect(machine.stages.failing == nil)
  }

  @Test func `an entry that somebody deletes has not failed`() throws {
    for before in [.reachable, .stale, .incomplete] as [NeighbourState] {
      var machine = try Self.online()
      _ = Self.hear(&machine, before)
      expect(Self.hear(&machine, .failed, .absent), false)
      #expect(machine.stages.gateway.evidence == .neighbourUnresolved)
      // If the two states come in two turns, the gateway has failed.
      expect(Self.hear(&machine, .failed), true)
      expect(Self.hear(&machine, .absent), false)
      #expect(machine.stages.failing == .gateway)
    }
  }

  @Test func `of two routers one that may be alive is enough`() throws {
    let path = try #require(ScriptedKernel.onlineTwice().published.last)
    var machine = StageMachine()
    _ = machine.handle(.path(path, gateways: [Self.router, Self.other]))
    expect(Self.hear(&machine, .failed, of: Self.other), false)
    #expect(machine.stages.gateway == StageFinding(.neighbourUnresolved, Self.router.address))
    expect(Self.hear(&machine, .reachable), false)
    #expect(machine.stages.gateway == StageFinding(.neighbourReachable, Self.router.address))
    #expect(machine.unprovenGateways == [Self.other])
    // The first router is idle, and the other one fails again and again.
    expect(Self.hear(&machine, .stale), false)
    expect(Self.hear(&machine, .incomplete, .failed, of: Self.other), false)
    #expect(machine.stages.gateway == StageFinding(.neighbourStale, Self.router.address))
    expect(Self.hear(&machine, .failed), true)
    #expect(machine.stages.failing == .gateway)
    // A neighbour with the router's address on another link is ignored.
    expect(Self.hear(&machine, .reachable, of: Neighbour(interfaceIndex: 3, address: Self.router.address)), false)
    expect(Self.hear(&machine, .reachable, of: Self.other), true)
    #expect(machine.stages.failing == nil)
  }

  @Test func `a router that refuses a datagram is alive`() throws {
    var machine = try Self.online()
    _ = Self.hear(&machine, .failed)
    expect(machine.handle(.answered(Self.router)), true)
    #expect(machine.stages.gateway == StageFinding(.answered, Self.router.address))
    #expect(machine.unprovenGateways.isEmpty)
  }

  @Test func `another router begins anew, and the same one does not`() throws {
    var machine = try Self.online()
    _ = Self.hear(&machine, .failed)
    let path = try #require(ScriptedKernel.online().published.last)
    expect(machine.handle(.path(path, gateways: [Self.router])), false)
    #expect(machine.stages.failing == .gateway)
    expect(machine.handle(.path(path, gateways: [Self.other])), true)
    #expect(machine.stages.gateway.evidence == .neighbourUnresolved)
  }

  @Test func `a link without neighbours says nothing of its gateway, and a route may need none`() throws {
    var kernel = ScriptedKernel(.init())
    var link = LinkUpdate(2, "wwan0", device: DeviceTraits(type: "wwan"))
    // The flag is IFF_NOARP.
    link.flags |= 0x80
    kernel.facts = [.loopback, .link(link), .address(2, .ip("10.0.0.1"))]
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
    kernel.start()
    var machine = StageMachine()
    _ = machine.handle(.path(try #require(kernel.published.last), gateways: [Self.router]))
    #expect(machine.stages.gateway == StageFinding(.noNeighbours))
    var plain = try Self.online()
    _ = plain.handle(.path(try #require(ScriptedKernel.online().published.last), gateways: []))
    #expect(plain.stages.gateway == StageFinding(.noGateway))
  }

  // MARK: Link and address

  @Test func `the link fails, then the address, then the way out`() throws {
    var kernel = ScriptedKernel.online()
    var machine = StageMachine()
    func stages() throws -> [String] {
      _ = machine.handle(.path(try #require(kernel.published.last), gateways: []))
      return NetworkStage.allCases.map { machine.stages[$0].evidence.rawValue }
    }
    #expect(try stages() == ["running", "configured", "no_gateway", "not_examined", "not_probed"])
    #expect(machine.stages.address.address == .ip("10.0.0.1"))
    let unknown = "not_examined"
    kernel.answers[.ipv4] = .noRoute
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(try stages() == ["no_carrier", unknown, unknown, unknown, unknown])
    #expect(machine.stages.failing == .link)
    kernel.tell(.link(2, "eth0", .down))
    #expect(try stages() == ["link_down", unknown, unknown, unknown, unknown])
    kernel.tell(.link(2, "eth0"), .noAddress(2, .ip("10.0.0.1")))
    #expect(try stages() == ["running", "no_address", unknown, unknown, unknown])
    #expect(machine.stages.failing == .address)
    kernel.tell(.address(2, .ip("10.0.0.7")))
    #expect(try stages() == ["running", "configured", "no_route", unknown, unknown])
    #expect(machine.stages.failing == .gateway)
    kernel.tell(.linkRemoved(index: 2))
    #expect(try stages() == ["no_link", unknown, unknown, unknown, unknown])
  }

  @Test func `a bridge of containers is no link that leads out`() throws {
    var kernel = ScriptedKernel.online()
    kernel.facts += [
      .link(7, "docker0", kind: "bridge"), .address(7, .ip("172.17.0.1")), .link(8, "veth1", kind: "veth", master: 7),
      .link(9, "dummy0", kind: "dummy"), .address(9, .ip("10.5.0.1")),
    ]
    kernel.start()
    var machine = StageMachine()
    _ = machine.handle(.path(try #require(kernel.published.last), gateways: []))
    kernel.answers[.ipv4] = .noRoute
    kernel.tell(.link(2, "eth0", .noCarrier))
    _ = machine.handle(.path(try #require(kernel.published.last), gateways: []))
    #expect(machine.stages.link.evidence == .noCarrier)
  }

  @Test(arguments: [(["eth0"], StageFinding.Evidence.running), (["foo0"], .noLink), (["tun0"], .running)])
  func `only links that traffic may leave over count, unless a tunnel is one`(
    _ names: [String], _ link: StageFinding.Evidence
  ) throws {
    var kernel = ScriptedKernel.online()
    kernel.facts.append(.link(9, "tun0", kind: "wireguard"))
    kernel.answers[.ipv4] = .noRoute
    kernel.start()
    var machine = StageMachine { names.contains($0) }
    _ = machine.handle(.path(try #require(kernel.published.last), gateways: []))
    #expect(machine.stages.link.evidence == link)
  }

  @Test func `while nothing is known of the path, nothing is known of a stage`() {
    var machine = StageMachine()
    #expect(machine.stages == NetworkStages())
    _ = machine.handle(.path(NetworkPath(verdict: .unknown, reason: .unresolved, interfaces: []), gateways: []))
    _ = machine.handle(.internet(.absent))
    #expect(machine.stages == NetworkStages())
  }

  // MARK: Name servers and the internet

  @Test func `the first stage that fails is the fault`() throws {
    var machine = try Self.online()
    expect(machine.handle(.internet(.absent)), true)
    #expect(machine.stages.failing == .internet)
    expect(machine.handle(.nameServers(StageFinding(.noAnswer, .ip("10.0.0.53")))), true)
    #expect(machine.stages.failing == .dns)
    expect(Self.hear(&machine, .failed), true)
    #expect(machine.stages.failing == .gateway)
    expect(Self.hear(&machine, .reachable), true)
    #expect(machine.stages.failing == .dns)
    expect(machine.handle(.nameServers(StageFinding(.answered))), true)
    expect(machine.handle(.internet(.full)), true)
    #expect(machine.stages.failing == nil)
    expect(machine.handle(.internet(.portal)), true)
    #expect(machine.stages.internet == StageFinding(.portal))
  }
}
