import Netwatch
import NetwatchTestSupport
import Testing

/// Whatever happens in a kernel, the published paths are true, and no path is published twice.
@Suite struct RandomWalkTests {
  struct Setting: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let seed: UInt64
    var names: Set<String>? = nil
  }

  @Test(arguments: [
    Setting(testDescription: "all links", seed: 1), Setting(testDescription: "all links, another walk", seed: 2),
    Setting(testDescription: "some links", seed: 3, names: ["eth1", "wwan0", "br0", "wg0"]),
    Setting(testDescription: "one link", seed: 4, names: ["eth0"]),
  ])
  func `what is published is true after every step`(_ setting: Setting) {
    var walk = Walk(setting)
    let steps = FuzzRounds.count(default: 20_000) / 4
    for step in 0..<steps {
      walk.step()
      if let fault = walk.fault {
        Issue.record("seed \(setting.seed), step \(step): \(fault)")
        return
      }
    }
    // A walk that is hardly ever reachable proves nothing.
    #expect(walk.reachable > steps / 100)
    #expect(walk.tunnelled > steps / 100 || !walk.includes("wg0"))
    #expect(walk.kernel.machine.statistics.transitions > steps / 100)
  }

  struct Walk {
    var kernel: ScriptedKernel
    var model = ModelKernel()
    var random: SplitMix
    let includes: @Sendable (String) -> Bool
    var fault: String?
    var reachable = 0
    var tunnelled = 0
    private var last: NetworkPath?

    init(_ setting: Setting) {
      let names = setting.names
      includes = { names?.contains($0) ?? true }
      var configuration = MonitorConfiguration.withInterfaces
      if names != nil { configuration.includesInterface = includes }
      kernel = ScriptedKernel(configuration)
      random = SplitMix(seed: setting.seed)
      model.links[1] = .init(index: 1, name: "lo", isOn: true, addresses: [.init(ip: .ip("127.0.0.1"))])
      model.links[2] = .init(index: 2, name: "eth0")
      kernel.facts = model.listing
      kernel.start()
      last = kernel.published.last
      kernel.forget()
    }

    mutating func step() {
      let changes = random.oneIn(3) ? 4 : 1
      var events: [NetworkEvent] = []
      for _ in 0..<changes { events += model.change(&random) }
      let world = World(of: model)
      let old = kernel.answers
      world.install(in: &kernel)
      kernel.onSettle = nil
      if changes == 1, random.oneIn(2) {
        // A change that the kernel announces early is done while the kernel settles.
        let late = events.reduce(AddressFamilies()) { $0.union(Self.earlyFamilies(of: $1)) }
        for (request, answer) in old where late.contains(request.family) { kernel.answers[request] = answer }
        kernel.onSettle = { world.install(in: &$0) }
      }
      if random.oneIn(10) {
        world.install(in: &kernel)
        loseSome(of: events)
      } else {
        for event in events { kernel.handle(.fact(event)) }
      }
      if random.oneIn(40) { kernel.handle(.resumed) }
      kernel.handle(.drained)
      if !kernel.timers.isEmpty { kernel.advance(by: .seconds(10)) }
      check(events)
      kernel.forget()
    }

    private static func earlyFamilies(of event: NetworkEvent) -> AddressFamilies {
      switch event {
      case .routing(let families, let isRemoval), .rules(let families, let isRemoval): isRemoval ? families : []
      case .addressRemoved(_, let address, _): AddressFamilies(address.family)
      case .address(_, let address): address.address.family == .ipv4 ? .ipv4 : []
      case .linkRemoved: .both
      case .link(let fact): fact.flags & Interface.upFlag == 0 ? .both : []
      case .wireless, .lease, .neighbour: []
      }
    }

    /// What the kernel says after a step. It is worked out once.
    private struct World {
      let facts: [NetworkEvent]
      let links: [Int32: NetworkEvent]
      let answers: [RouteRequest: RouteAnswer]

      init(of model: ModelKernel) {
        facts = model.listing
        links = model.links.keys.reduce(into: [:]) { $0[$1] = model.fact($1) }
        answers = model.answers
      }

      func install(in kernel: inout ScriptedKernel) {
        (kernel.facts, kernel.links, kernel.answers) = (facts, links, answers)
      }
    }

    private mutating func loseSome(of events: [NetworkEvent]) {
      kernel.interruptions = random.oneIn(4) ? 12 : 0
      for event in events where !random.oneIn(2) { kernel.handle(.fact(event)) }
      kernel.handle(.overrun)
    }

    private mutating func check(_ events: [NetworkEvent]) {
      let truth = model.truth(includes: includes)
      for (path, change) in zip(kernel.published, kernel.changes) {
        let isNew = change == .interfaces ? path.interfaces != last?.interfaces : path.verdict != last?.verdict
        if !isNew { fault = "published twice: \(change) \(path)" }
        last = path
      }
      guard let last else { return }
      if truth.carrier != nil { reachable += 1 }
      if truth.tunnel != nil { tunnelled += 1 }
      let said = ModelKernel.Truth(
        ipv4: last.ipv4.map { ($0.interfaceIndex, $0.address) },
        ipv6: last.ipv6.map { ($0.interfaceIndex, $0.address) }, carrier: last.interfaceIndex)
      let status: ReachabilityStatus =
        truth.carrier.map { model.links[$0]?.kind == "wwan" ? .wwan : .wifi } ?? .notReachable
      if said != truth || last.status != status || last.vpn?.interfaceIndex != truth.tunnel
        || last.interfaceName != truth.carrier.flatMap({ model.links[$0]?.name })
      {
        fault = "truth \(truth), published \(last.status) \(said) after \(events)\n\(model)"
      }
    }
  }
}
