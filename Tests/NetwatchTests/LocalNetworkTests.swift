import Netwatch
import NetwatchTestSupport
import Testing

/// Networks without a way to the internet in which other machines are known.
@Suite struct LocalNetworkTests {
  private static func kernel(neighbours: [Int32], routes: Bool = false) -> ScriptedKernel {
    var kernel = ScriptedKernel()
    kernel.facts = [.loopback, .link(2, "eth0"), .address(2, .ip("10.0.0.1"))]
    kernel.neighbours = neighbours
    if routes { kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1")) }
    kernel.start()
    return kernel
  }

  private static let neighbour = Neighbour(interfaceIndex: 2, address: .ip("10.0.0.7"))

  @Test func `other machines on a link with an address are a local network, and the status stays`() {
    let kernel = Self.kernel(neighbours: [2])
    #expect(kernel.story == ["not-reachable no_route -"])
    #expect(kernel.published.map(\.isLocalOnly) == [true])
    #expect(!kernel.watch.includesNeighbours)
    #expect(kernel.published[0].sentence().contains("Only the local network is within reach."))
  }

  @Test(arguments: [[], [3]])
  func `no machine, and one on another link, is none`(_ neighbours: [Int32]) {
    #expect(Self.kernel(neighbours: neighbours).published.map(\.isLocalOnly) == [false])
  }

  @Test func `the first machine that becomes known is told, and no other`() {
    var kernel = Self.kernel(neighbours: [])
    #expect(kernel.watch.includesNeighbours)
    kernel.neighbours = [2]
    kernel.tell(.neighbour(Self.neighbour, isDead: false))
    #expect(kernel.story == ["not-reachable no_route -", "not-reachable no_route -"])
    #expect(kernel.published.map(\.isLocalOnly) == [false, true])
    #expect(kernel.changes.last == .reachability)
    #expect(!kernel.watch.includesNeighbours)
    // Only the first path counts as a change of reachability.
    #expect(kernel.machine.statistics.transitions == 1)
    kernel.tell(.neighbour(Neighbour(interfaceIndex: 2, address: .ip("10.0.0.8")), isDead: false))
    #expect(kernel.published.count == 2)
  }

  @Test func `nobody is asked about neighbours while the internet is reachable, or no link works`() {
    var kernel = Self.kernel(neighbours: [2], routes: true)
    #expect(kernel.published.map(\.isLocalOnly) == [false])
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(kernel.story.last == "not-reachable no_carrier -")
    #expect(!kernel.lookUps.contains { $0.scope == .neighbours })
    #expect(!kernel.watch.includesNeighbours)
  }

  @Test func `a lost route leaves the local network, and a pulled cable takes it too`() {
    var kernel = Self.kernel(neighbours: [2], routes: true)
    kernel.answers[.ipv4] = .noRoute
    kernel.tell(.routing(.ipv4, isRemoval: true))
    kernel.neighbours = []
    kernel.tell(.link(2, "eth0", .noCarrier))
    #expect(
      kernel.story == ["wifi initial eth0", "not-reachable no_route -", "not-reachable no_carrier -"])
    #expect(kernel.published.map(\.isLocalOnly) == [false, true, false])
  }

  @Test func `another target than the internet has no local network`() {
    var configuration = MonitorConfiguration()
    configuration.target = .address(.ip("10.9.0.1"), port: nil)
    var kernel = ScriptedKernel(configuration)
    kernel.facts = [.loopback, .link(2, "eth0"), .address(2, .ip("10.0.0.1"))]
    kernel.neighbours = [2]
    kernel.start()
    #expect(kernel.published.map(\.isLocalOnly) == [false])
  }
}
