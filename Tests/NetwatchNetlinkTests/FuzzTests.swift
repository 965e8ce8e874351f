import Netwatch
import NetwatchTestSupport
import Testing

@testable import NetlinkWire
@testable import NetwatchNetlink

/// Bytes of any kind in any order: nothing traps, nothing grows without bound, and no path is reachable without ground.
@Suite struct FuzzTests {
  @Test(arguments: [UInt64(11), 12])
  func `mutated messages, random answers and random order do no harm`(_ seed: UInt64) {
    var fuzz = Fuzz(seed: seed)
    for round in 0..<FuzzRounds.count(default: 20_000) / 2 {
      fuzz.step(round)
      if let fault = fuzz.fault {
        Issue.record("seed \(seed), round \(round): \(fault)")
        return
      }
    }
    #expect(fuzz.facts > 0 && fuzz.answers > 0)
    #expect(fuzz.kernel.machine.statistics.transitions > 10)
  }

  struct Fuzz {
    var kernel: ScriptedKernel
    var random: SplitMix
    var fault: String?
    var facts = 0
    var answers = 0
    private var recent: [NetworkEvent] = []
    private var rules: [RoutingRule] = []
    private var known: Set<Int32> = []
    private var last: NetworkPath?

    init(seed: UInt64) {
      random = SplitMix(seed: seed)
      var configuration = MonitorConfiguration.withInterfaces
      configuration.hold = .milliseconds(30)
      configuration.includesInterface = { !$0.hasPrefix("w") }
      kernel = ScriptedKernel(configuration)
      kernel.start()
      last = kernel.published.last
    }

    mutating func step(_ round: Int) {
      var bytes: [UInt8] = []
      for _ in 0..<(random.oneIn(4) ? 3 : 1) {
        bytes += Mutation.message(from: Corpus.all, &random)
        bytes += [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
      }
      let results = Decoding.all(bytes)
      let places = results.map(\.range)
      if places.contains(where: { $0.lowerBound < 0 || $0.upperBound > bytes.count || $0.count < 16 })
        || zip(places, places.dropFirst()).contains(where: { $0.upperBound > $1.lowerBound })
      {
        fault = "places \(places) in \(bytes.count) bytes"
      }
      for case .event(let event) in results.map(\.message) { take(event) }
      for message in Decoding.messages(bytes, as: .answer) {
        switch message {
        case .route(let answer): keep(answer)
        case .rule(let rule): keep(rule)
        default: break
        }
      }
      disturb(round)
      check()
      kernel.forget()
    }

    private mutating func take(_ event: NetworkEvent) {
      facts += 1
      if case .link(let fact) = event { known.insert(fact.index) }
      recent.append(event)
      if recent.count > 40 { recent.removeFirst() }
      kernel.handle(.fact(event))
    }

    private mutating func keep(_ answer: RouteAnswer) {
      answers += 1
      let family: AddressFamily = random.oneIn(2) ? .ipv4 : .ipv6
      let index = Int32.random(in: 1...25, using: &random)
      let mark = rules.last { $0.mark != 0 }?.mark ?? 51820
      let requests = [
        RouteRequest(family), RouteRequest(family, .allHops), RouteRequest(family, .link(index)),
        .beneath(family, .link(index)), .beneath(family, .marked(mark)), .beneath(family, .remote(tunnel: index)),
      ]
      kernel.answers[requests[Int.random(in: 0..<requests.count, using: &random)]] = answer
      if random.oneIn(16) { kernel.answers = [:] }
    }

    private mutating func keep(_ rule: RoutingRule) {
      rules.append(rule)
      if rules.count > 20 { rules.removeFirst() }
      for family in AddressFamily.allCases { kernel.answers[.beneath(family, .rules)] = .rules(rules) }
    }

    private mutating func disturb(_ round: Int) {
      kernel.facts = recent
      kernel.links = recent.reduce(into: [:]) { links, event in
        if case .link(let fact) = event { links[fact.index] = event }
      }
      kernel.interruptions = random.oneIn(50) ? 11 : 0
      kernel.refusedListings = random.oneIn(50) ? 11 : 0
      kernel.refusedLookUps = random.oneIn(50) ? 11 : 0
      switch Int.random(in: 0..<40, using: &random) {
      case 0: kernel.handle(.overrun)
      case 1: kernel.handle(.resumed)
      case 2: kernel.handle(.timerFired(.hold))
      case 3: kernel.handle(.timerFired(.retry))
      case 4: kernel.handle(.dumped(isConsistent: random.oneIn(2)))
      case 5: kernel.handle(.answered([RouteQuery(.v4(0)): .noRoute]))
      case 6: kernel.handle(.refused)
      case 7: kernel.advance(by: .milliseconds(200))
      default: break
      }
      if round.isMultiple(of: 200) { kernel.handle(.overrun) }
      if !random.oneIn(3) { kernel.handle(.drained) }
    }

    private mutating func check() {
      let interfaces = kernel.machine.evaluator.snapshot.interfaces
      let indexes = interfaces.map(\.index)
      if indexes != indexes.sorted() || Set(indexes).count != indexes.count { fault = "order \(indexes)" }
      if !Set(indexes).isSubset(of: known) { fault = "links that nobody told of: \(indexes)" }
      // A listing has at most 40 facts, and a listing follows every 200 rounds.
      if interfaces.count > 700 || interfaces.contains(where: { $0.addresses.count > 700 }) { fault = "growth" }
      if kernel.timers.count > 2 { fault = "timers" }
      for (path, change) in zip(kernel.published, kernel.changes) {
        if change == .reachability, path.verdict == last?.verdict { fault = "published twice: \(path)" }
        if change == .interfaces, path.interfaces == last?.interfaces { fault = "links published twice" }
        last = path
        let hasGround = path.interface.map { $0.medium == path.medium && path.ipv4 != nil || path.ipv6 != nil } ?? false
        if path.isReachable != hasGround, change != .interfaces { fault = "no ground for \(path)" }
      }
    }
  }
}
