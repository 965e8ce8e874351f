import Netwatch

/// The name by which tests know a question to the kernel: its family, what is asked, and the position of its
/// destination.
package struct RouteRequest: Hashable, Sendable {
  package enum Scope: Hashable, Sendable {
    /// The way of a packet without a mark, a link or a source address of its own.
    case plain
    /// The route itself with all its next hops.
    case allHops
    /// The route itself, asked for the time at which it ends.
    case lifetime
    /// The way of a packet that has to leave by the link with this index.
    case link(Int32)
    /// The way of packets with this mark.
    case marked(UInt32)
    /// The way of a tunnel's packets to the other end of the tunnel with this index.
    case remote(tunnel: Int32)
    /// The rules that choose the routing table.
    case rules
    /// The way to the source address that the answer to the plain question has named.
    case source
    /// The routes to single addresses over the link with this index.
    case hostRoutes(Int32)
    /// The links on which other machines are known.
    case neighbours
    /// The way of a tunnel's packets to this address.
    case way(InternetAddress)
    /// The way of packets from this source address.
    case from(InternetAddress)
  }

  package let family: AddressFamily
  package let scope: Scope
  /// The position of the destination among the target's addresses of this family. Negative for questions about the
  /// carrier of a tunnel.
  package let destination: Int

  /// The `destination` of a question about the carrier of a tunnel: the first address of ``Destinations/internet``.
  package static let internet = -1
  package static func internet(_ position: Int) -> Int { internet - position }
  package var isBeneath: Bool { destination < 0 }

  package init(_ family: AddressFamily, _ scope: Scope = .plain, to destination: Int = 0) {
    self.family = family
    self.scope = scope
    self.destination = destination
  }
}

/// A ``ReachabilityMachine`` with a kernel that a test controls.
///
/// The test gives the machine facts, questions are answered from a table, and everything that the machine publishes is
/// kept.
package struct ScriptedKernel {
  package private(set) var machine: ReachabilityMachine
  /// The answers to questions. A question without an entry is answered with `noRoute`, and a question for the rules
  /// with the rules that every kernel has.
  package var answers: [RouteRequest: RouteAnswer] = [:]
  /// The links on which other machines are known.
  package var neighbours: [Int32] = []
  /// The facts that a dump reports.
  package var facts: [NetworkEvent] = []
  /// The facts that are reported when single links are read again, by the indices of the links.
  package var links: [Int32: NetworkEvent] = [:]
  /// The number of the next dumps that end as inconsistent.
  package var interruptions = 0
  /// The number of the next dumps that the kernel refuses.
  package var refusedListings = 0
  /// The number of the next questions that the kernel refuses.
  package var refusedLookUps = 0
  /// A closure that makes the changes that the kernel has only announced so far. It is called when the machine asks
  /// after pending changes.
  package var onSettle: ((inout ScriptedKernel) -> Void)?
  /// A closure that changes the kernel just before a round of questions is answered.
  package var onQuery: ((inout ScriptedKernel) -> Void)?
  /// A closure that changes the kernel just before the machine watches something else.
  package var onWatch: ((inout ScriptedKernel) -> Void)?
  package private(set) var published: [NetworkPath] = []
  package private(set) var changes: [ReachabilityMachine.Change] = []
  /// All outputs of the machine, in order.
  package private(set) var outputs: [ReachabilityMachine.Output] = []
  private var asked: [(request: RouteRequest, output: Int)] = []
  /// The routes and routers whose changes the machine wants to know now.
  package private(set) var watch = ReachabilityMachine.Watch()
  package private(set) var timers: [ReachabilityMachine.Timer: Duration] = [:]
  package private(set) var now = Duration.zero

  /// The id of the user whose packets reach the target. Questions about a tunnel's packets have another id, that of
  /// root.
  private static let user: UInt32 = 1000

  package init(
    _ configuration: MonitorConfiguration = .init(), rules: NetworkRules = NetworkRules(),
    namespaces: IsolatedNamespaces = []
  ) {
    machine = ReachabilityMachine(
      configuration: configuration, rules: rules, namespaces: namespaces, user: Self.user)
  }

  package mutating func start() { handle(.started) }

  /// Gives the machine facts as notifications, and then tells it that there is nothing more to read.
  package mutating func tell(_ events: NetworkEvent...) {
    for event in events { handle(.fact(event)) }
    handle(.drained)
  }

  /// Forgets everything that was kept, so that long runs need little memory and a test sees only what comes next.
  package mutating func forget() {
    published.removeAll(keepingCapacity: true)
    changes.removeAll(keepingCapacity: true)
    outputs.removeAll(keepingCapacity: true)
    asked.removeAll(keepingCapacity: true)
  }

  /// The published paths, each as "status reason interface".
  package var story: [String] {
    zip(published, changes).map { path, change in
      let what = change == .interfaces ? "interfaces" : path.reason.rawValue
      return "\(path.status.rawValue) \(what) \(path.interfaceName ?? "-")"
    }
  }

  /// The questions that the kernel was asked, in order.
  package var lookUps: [RouteRequest] { asked.map(\.request) }

  /// Returns the position in ``outputs`` at which the machine first asks a question.
  package func position(of request: RouteRequest) -> Int? { asked.first { $0.request == request }?.output }

  /// The positions in ``outputs`` at which the machine watches something else.
  package var watches: [Int] { outputs.indices.filter { if case .watch = outputs[$0] { true } else { false } } }

  /// The number of dumps that the machine has asked for.
  package var listings: Int { outputs.count { $0 == .dump } }

  /// The number of rounds that the machine has asked after pending changes.
  package var settles: Int {
    outputs.count { if case .query(_, afterPendingChanges: true) = $0 { true } else { false } }
  }

  /// The number of times that the machine had the target's host resolved.
  package var resolves: Int { outputs.count { $0 == .resolve } }

  /// The indices of the links that the machine has read again.
  package var readLinks: [Int32] {
    outputs.flatMap { if case .readLinks(let indices) = $0 { indices } else { [Int32]() } }
  }

  /// Moves the time forward, and fires each timer at its deadline.
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

  /// Returns the name by which tests know a question.
  private func request(for query: RouteQuery) -> RouteRequest {
    let family = query.family
    switch query.kind {
    case .rules: return RouteRequest(family, .rules, to: RouteRequest.internet)
    case .hostRoutes: return RouteRequest(family, .hostRoutes(query.link), to: RouteRequest.internet)
    case .neighbours: return RouteRequest(family, .neighbours, to: RouteRequest.internet)
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

  /// Returns the answer to a question. For the DNS root server, this is the answer for the first probe address, unless
  /// a test has set another one.
  private func answer(to request: RouteRequest, _ query: RouteQuery) -> RouteAnswer {
    if let answer = answers[request] { return answer }
    if request.scope == .rules { return .rules(RoutingRule.standard) }
    if request.scope == .neighbours { return .neighbours(neighbours) }
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
