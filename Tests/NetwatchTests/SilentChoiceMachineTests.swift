import NetwatchTestSupport
import Testing

@testable import Netwatch

/// Routes that the kernel chooses again without an announcement.
@Suite struct SilentChoiceMachineTests {
  /// Returns a kernel with two uplinks, eth0 and eth1. IPv4 leaves over eth0.
  private static func kernel() -> ScriptedKernel {
    var kernel = ScriptedKernel()
    kernel.facts = [
      .loopback, .link(2, "eth0"), .link(3, "eth1"), .address(2, .ip("10.0.0.1")), .address(3, .ip("10.1.0.1")),
    ]
    kernel.answers[.ipv4] = ScriptedKernel.over(2)
    kernel.start()
    return kernel
  }

  private static let first = Neighbour(2, "10.0.0.254")
  private static let second = Neighbour(3, "10.1.0.254")

  @Test func `the router in use is watched while another link could carry the traffic`() {
    var kernel = Self.kernel()
    #expect(kernel.watch.routers == [Self.first])
    kernel.answers[.ipv4] = ScriptedKernel.over(3)
    kernel.tell(.neighbour(Self.first, isDead: true))
    #expect(kernel.story.last == "wifi interface_changed eth1")
    #expect(kernel.watch.routers == [Self.second])
    #expect(kernel.watch.otherRouters == [Self.first])
    kernel.tell(.linkRemoved(index: 2))
    #expect(kernel.watch.routers.isEmpty)
    #expect(kernel.timers.isEmpty)
  }

  @Test func `of equal routes, the router that is not in use is watched too`() {
    var kernel = Self.kernel()
    let equal: [Int32: RouteAnswer] = [2: ScriptedKernel.over(2), 3: ScriptedKernel.over(3)]
    for (link, answer) in equal { kernel.answers[RouteRequest(.ipv4, .link(link))] = answer }
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.watch.routers == [Self.first])
    #expect(kernel.watch.otherRouters == [Self.second])
    // A neighbour with the same address on another link is no news, and neither is the router in use.
    let before = kernel.lookUps.count
    kernel.tell(.neighbour(Neighbour(4, "10.1.0.254"), isDead: false), .neighbour(Self.first, isDead: false))
    #expect(kernel.lookUps.count == before)
    kernel.answers[.ipv4] = ScriptedKernel.over(3)
    kernel.tell(.neighbour(Self.second, isDead: false))
    #expect(kernel.story == ["wifi initial eth0", "wifi interface_changed eth1"])
    #expect(kernel.watch.routers == [Self.second])
    #expect(kernel.watch.otherRouters == [Self.first])
    kernel.tell(.address(3, .ip("10.1.0.2")), .linkRemoved(index: 2))
    #expect(kernel.watch.otherRouters.isEmpty)
  }

  @Test func `a dead router that the kernel keeps although another one may live can fail again`() {
    var kernel = Self.kernel()
    for link: Int32 in [2, 3] { kernel.answers[RouteRequest(.ipv4, .link(link))] = ScriptedKernel.over(link) }
    kernel.tell(.routing(.ipv4, isRemoval: false))
    kernel.tell(.neighbour(Self.first, isDead: true))
    #expect(kernel.story == ["wifi initial eth0"])
    #expect(kernel.watch.routers == [Self.first])
    kernel.answers[.ipv4] = ScriptedKernel.over(3)
    kernel.tell(.neighbour(Self.first, isDead: true))
    #expect(kernel.story == ["wifi initial eth0", "wifi interface_changed eth1"])
  }

  @Test func `the router of a worse or less specific route is not watched`() {
    var kernel = Self.kernel()
    var (worse, wider) = (RouteHop(interfaceIndex: 3), RouteHop(interfaceIndex: 2))
    (worse.gateway, worse.metric) = (.ip("10.1.0.254"), 600)
    (wider.gateway, wider.prefixLength) = (.ip("10.0.0.254"), 1)
    for own in [ScriptedKernel.over(2), .hop(wider)] {
      kernel.answers[RouteRequest(.ipv4, .link(2))] = own
      kernel.answers[RouteRequest(.ipv4, .link(3))] = own == .hop(wider) ? ScriptedKernel.over(3) : .hop(worse)
      kernel.tell(.routing(.ipv4, isRemoval: false))
      #expect(kernel.watch.otherRouters.isEmpty)
    }
  }

  @Test func `while nothing can be reached over a link that works, the kernel is asked again`() {
    var kernel = Self.kernel()
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.story.last == "not-reachable no_carrier -")
    var times: [Duration] = []
    func ask() {
      guard let time = kernel.timers[.recheck] else { return }
      times.append(time)
      kernel.advance(by: time - kernel.now)
    }
    for _ in 0..<25 { ask() }
    let first: [Duration] = [.milliseconds(100), .milliseconds(400), .milliseconds(1400), .milliseconds(4400)]
    #expect(Array(times.prefix(4)) == first)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 > .seconds(60) || $1 - $0 <= .seconds(3) })
    #expect(times[24] - times[23] == .seconds(10))
    // The next announcement starts the pauses again.
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.timers[.recheck] == kernel.now + .milliseconds(100))
    kernel.answers[.ipv4] = ScriptedKernel.over(3)
    ask()
    #expect(kernel.story.last == "wifi route_up eth1")
    #expect(kernel.timers.isEmpty)
  }

  @Test func `a machine without another link that works sleeps`() {
    var kernel = Self.kernel()
    kernel.tell(.link(3, "eth1", .noCarrier), .link(2, "eth0", .noCarrier))
    #expect(kernel.story.last == "not-reachable no_carrier -")
    #expect(kernel.timers.isEmpty)
  }

  @Test func `between equal routes whose routers are not known the kernel takes turns, and the path stays`() {
    var kernel = Self.kernel()
    for link: Int32 in [2, 3] { kernel.answers[RouteRequest(.ipv4, .link(link))] = ScriptedKernel.over(link) }
    kernel.tell(.routing(.ipv4, isRemoval: false))
    var isEven = false
    kernel.onQuery = { kernel in
      isEven.toggle()
      kernel.answers[.ipv4] = ScriptedKernel.over(isEven ? 3 : 2)
    }
    for _ in 0..<6 { kernel.tell(.routing(.ipv4, isRemoval: false)) }
    #expect(kernel.story == ["wifi initial eth0"])
    // The kernel takes the other route for good.
    kernel.onQuery = nil
    kernel.answers[.ipv4] = ScriptedKernel.over(3)
    kernel.tell(.routing(.ipv4, isRemoval: false))
    #expect(kernel.story.last == "wifi interface_changed eth1")
  }

  @Test func `beneath a tunnel the pauses grow too, although routes to single addresses are looked for`() {
    var kernel = ScriptedKernel.openVPN()
    let server = InternetAddress.ip("198.18.0.7")
    kernel.answers[.beneath(.ipv4, .hostRoutes(3))] = .hostRoutes([server])
    kernel.answers[.beneath(.ipv4, .way(server))] = ScriptedKernel.over(3)
    kernel.start()
    kernel.tell(.link(3, "wlan0", .noCarrier, device: DeviceTraits(isWireless: true)))
    #expect(kernel.story.last == "not-reachable no_carrier -")
    kernel.advance(by: .seconds(70))
    kernel.forget()
    kernel.advance(by: .seconds(30))
    #expect((3...8).contains(kernel.lookUps.count { $0 == .ipv4 }))
  }

  @Test func `a change of rules counts for both families`() {
    var configuration = MonitorConfiguration()
    configuration.target = .address(.ip("198.51.100.7"), port: nil)
    var kernel = ScriptedKernel.onlineTwice(configuration)
    kernel.forget()
    kernel.tell(.rules(.ipv4, isRemoval: false))
    #expect(kernel.lookUps.contains(.beneath(.ipv4, .rules)))
  }
}
