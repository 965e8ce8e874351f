import Netwatch

/// A question to the kernel as tests name it: by the place of its destination, and by what it is about.
package struct RouteRequest: Hashable, Sendable {
  package enum Scope: Hashable, Sendable {
    /// The way for any program.
    case plain
    /// The route with all its hops.
    case allHops
    /// The route, for the time at which it ends.
    case lifetime
    /// The way as if this link were the only one.
    case link(Int32)
    /// The way for packets with this mark.
    case marked(UInt32)
    /// The way to the other end of this tunnel.
    case remote(tunnel: Int32)
    /// The rules.
    case rules
    /// The way to the source that the plain lookup has named.
    case source
    /// The routes to single addresses over this link.
    case hostRoutes(Int32)
    /// The way of a tunnel's packets to this address.
    case way(IPAddress)
    /// The way of packets from this address.
    case from(IPAddress)
  }

  package let family: AddressFamily
  package let scope: Scope
  /// The position among the target's addresses of this family. Negative for questions about what carries a tunnel.
  package let destination: Int

  /// The destination of a question about what carries a tunnel: the first of ``Destinations/internet``.
  package static let internet = -1
  package static func internet(_ position: Int) -> Int { internet - position }
  package var isBeneath: Bool { destination < 0 }

  package init(_ family: AddressFamily, _ scope: Scope = .plain, to destination: Int = 0) {
    self.family = family
    self.scope = scope
    self.destination = destination
  }
}

/// A machine with a kernel that a test writes: facts are told, questions are answered from a table, and everything that is
/// published is kept.
package struct ScriptedKernel {
  package private(set) var machine: ReachabilityMachine
  /// The answers. Without an entry: `noRoute`, and the rules that every kernel has.
  package var answers: [RouteRequest: RouteAnswer] = [:]
  /// What a dump tells.
  package var facts: [NetworkEvent] = []
  /// What reading one link tells.
  package var links: [Int32: NetworkEvent] = [:]
  /// How many of the next dumps are inconsistent.
  package var interruptions = 0
  /// How many of the next dumps are refused.
  package var refusedListings = 0
  /// How many of the next questions are refused.
  package var refusedLookUps = 0
  /// Changes the kernel while it is made to settle: what it had only announced is done now.
  package var onSettle: ((inout ScriptedKernel) -> Void)?
  /// Changes the kernel just before it answers a round of questions.
  package var onQuery: ((inout ScriptedKernel) -> Void)?
  /// Changes the kernel just before something else is watched.
  package var onWatch: ((inout ScriptedKernel) -> Void)?
  package private(set) var published: [NetworkPath] = []
  package private(set) var changes: [ReachabilityMachine.Change] = []
  /// Everything that the machine wants, in order.
  package private(set) var outputs: [ReachabilityMachine.Output] = []
  private var asked: [(request: RouteRequest, output: Int)] = []
  /// What is watched.
  package private(set) var watch = ReachabilityMachine.Watch()
  package private(set) var timers: [ReachabilityMachine.Timer: Duration] = [:]
  package private(set) var now = Duration.zero

  /// A user who is not root, whose packets a tunnel's are not.
  private static let user: UInt32 = 1000

  package init(
    _ configuration: MonitorConfiguration = .init(), rules: NetworkRules = NetworkRules(),
    namespaces: IsolatedNamespaces = []
  ) {
    machine = ReachabilityMachine(
      configuration: configuration, rules: rules, namespaces: namespaces, user: Self.user)
  }

  package mutating func start() { handle(.started) }

  /// Tells facts as notifications, then that there is nothing more to read.
  package mutating func tell(_ events: NetworkEvent...) {
    for event in events { handle(.fact(event)) }
    handle(.drained)
  }

  /// Drops what is kept, so that long runs stay small and tests look at what comes next alone.
  package mutating func forget() {
    published.removeAll(keepingCapacity: true)
    changes.removeAll(keepingCapacity: true)
    outputs.removeAll(keepingCapacity: true)
    asked.removeAll(keepingCapacity: true)
  }

  /// What was published, each as "status reason interface".
  package var story: [String] {
    zip(published, changes).map { path, change in
      let what = change == .interfaces ? "interfaces" : path.reason.rawValue
      return "\(path.status.rawValue) \(what) \(path.interfaceName ?? "-")"
    }
  }

  /// What the kernel was asked, in order.
  package var lookUps: [RouteRequest] { asked.map(\.request) }

  /// Where in ``outputs`` the machine asks a question.
  package func position(of request: RouteRequest) -> Int? { asked.first { $0.request == request }?.output }

  /// Where in ``outputs`` the machine has something else watched.
  package var watches: [Int] { outputs.indices.filter { if case .watch = outputs[$0] { true } else { false } } }

  /// How often the machine has asked for a dump.
  package var listings: Int { outputs.count { $0 == .dump } }

  /// How often the machine has asked after pending changes.
  package var settles: Int {
    outputs.count { if case .query(_, afterPendingChanges: true) = $0 { true } else { false } }
  }

  /// How often the host was resolved again.
  package var resolves: Int { outputs.count { $0 == .resolve } }

  /// The links that were read again.
  package var readLinks: [Int32] {
    outputs.flatMap { if case .readLinks(let indices) = $0 { indices } else { [Int32]() } }
  }

  /// Lets time pass; timers fire on their way.
  package mutating func advance(by duration: Duration) {
    let end = now + duration
    while let next = timers.min(by: { $0.value < $1.value }), next.value <= end {
      now = max(now, next.value)
      timers[next.key] = nil
      handle(.timerFired(next.key))
    }
    now = end
  }

  package mutating func handle(_ input: ReachabilityMachine.Input) {
    for output in machine.handle(input, at: now) { perform(output) }
  }

  // MARK: Answers

  /// The name of a question in tests.
  private func request(for query: RouteQuery) -> RouteRequest {
    let family = query.family
    switch query.kind {
    case .rules: return RouteRequest(family, .rules, to: RouteRequest.internet)
    case .hostRoutes: return RouteRequest(family, .hostRoutes(query.link), to: RouteRequest.internet)
    case .way, .sourcedWay, .route, .lifetime: break
    }
    var scope =
      query.kind == .way || query.kind == .sourcedWay
      ? RouteRequest.Scope.plain : query.kind == .route ? .allHops : .lifetime
    if let source = query.source {
      scope = .from(source)
    } else if query.mark != 0 {
      scope = .marked(query.mark)
    } else if query.link != 0 {
      scope = .link(query.link)
    }
    guard query.user != Self.user else {
      if let position = machine.destinations[family].firstIndex(of: query.destination) {
        return RouteRequest(family, scope, to: position)
      }
      let position = machine.destinations[family].indices.first {
        if case .hop(let hop) = answers[RouteRequest(family, to: $0)] { hop.source == query.destination } else { false }
      }
      return RouteRequest(family, .source, to: position ?? 0)
    }
    if let position = Destinations.internet[family].firstIndex(of: query.destination) {
      return RouteRequest(family, scope, to: RouteRequest.internet(position))
    }
    let tunnel = machine.evaluator.snapshot.interfaces.first { $0.remote == query.destination }
    return RouteRequest(
      family, tunnel.map { .remote(tunnel: $0.index) } ?? .way(query.destination), to: RouteRequest.internet)
  }

  /// The DNS root server is where the first address that stands for the internet is, unless a test says otherwise.
  private func answer(to request: RouteRequest, _ query: RouteQuery) -> RouteAnswer {
    if let answer = answers[request] { return answer }
    if request.scope == .rules { return .rules(RoutingRule.standard) }
    let isInternet = request.isBeneath || machine.destinations.isInternet
    guard query.destination == Destinations.fallback(request.family), isInternet else { return .noRoute }
    let first = RouteRequest(request.family, request.scope, to: request.isBeneath ? RouteRequest.internet : 0)
    return answers[first] ?? .noRoute
  }

  private mutating func perform(_ output: ReachabilityMachine.Output) {
    outputs.append(output)
    switch output {
    case .dump:
      handle(.dumpBegan)
      if refusedListings > 0 {
        refusedListings -= 1
        return handle(.refused)
      }
      for fact in facts { handle(.fact(fact)) }
      let isConsistent = interruptions == 0
      interruptions = max(0, interruptions - 1)
      handle(.dumped(isConsistent: isConsistent))
    case .readLinks(let indices):
      for index in indices { if let link = links[index] { handle(.fact(link)) } }
    case .query(let queries, let afterPendingChanges):
      if afterPendingChanges {
        let action = onSettle
        action?(&self)
      }
      let turn = onQuery
      turn?(&self)
      var found: [RouteQuery: RouteAnswer] = [:]
      for query in queries {
        let request = request(for: query)
        asked.append((request, outputs.count - 1))
        if refusedLookUps > 0 {
          refusedLookUps -= 1
          return handle(.refused)
        }
        found[query] = answer(to: request, query)
      }
      handle(.answered(found))
    case .watch(let watch):
      let action = onWatch
      action?(&self)
      self.watch = watch
    case .resolve: break
    case .timer(let timer, let deadline): timers[timer] = deadline
    case .publish(let path, let change):
      published.append(path)
      changes.append(change)
    }
  }
}
