import Netwatch

/// A machine and a kernel of one's own invention: facts are told, lookups are answered from a table, and everything that
/// is published is kept.
package struct ScriptedKernel {
  package private(set) var machine: ReachabilityMachine
  /// The answers to lookups. Without an entry: `noRoute`, and the rules that every kernel has.
  package var answers: [RouteRequest: RouteAnswer] = [:]
  /// What a listing tells.
  package var facts: [NetworkEvent] = []
  /// What reading one link tells.
  package var links: [Int32: NetworkEvent] = [:]
  /// How the next listings end: whole, once this is empty.
  package var interruptions = 0
  /// How many of the next listings are refused.
  package var refusedListings = 0
  /// How many of the next lookups are refused.
  package var refusedLookUps = 0
  /// Changes the kernel while it is made to settle: what it had only announced is done now.
  package var onSettle: ((inout ScriptedKernel) -> Void)?
  /// Changes the kernel just before other routers are watched.
  package var onWatchRouters: ((inout ScriptedKernel) -> Void)?
  package private(set) var published: [NetworkPath] = []
  package private(set) var changes: [ReachabilityMachine.Change] = []
  /// Everything that the machine asked for, in order.
  package private(set) var effects: [ReachabilityMachine.Effect] = []
  package private(set) var timers: [ReachabilityMachine.Timer: Duration] = [:]
  package private(set) var now = Duration.zero
  /// The number of what the machine has asked last.
  package private(set) var lastQuestion: ReachabilityMachine.Question = 0
  /// What the machine wants done and is not yet: the first thing last, and where in it belongs what it wants because of that.
  private var queue: [ReachabilityMachine.Effect] = []
  private var place = 0
  private var isPerforming = false

  package init(_ configuration: MonitorConfiguration = .init(), namespaces: OwnNamespaces = []) {
    machine = ReachabilityMachine(configuration: configuration, namespaces: namespaces)
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
    effects.removeAll(keepingCapacity: true)
  }

  /// What was published, each as "status reason interface".
  package var story: [String] {
    zip(published, changes).map { path, change in
      let what = change == .interfaces ? "interfaces" : path.reason.rawValue
      return "\(path.status.rawValue) \(what) \(path.interfaceName ?? "-")"
    }
  }

  /// What the kernel was asked, in order.
  package var lookUps: [RouteRequest] {
    effects.flatMap { effect -> [RouteRequest] in
      switch effect {
      case .lookUp(_, let request): [request]
      case .lookUpBothStandIns(_, let family): Self.standIns(family)
      default: []
      }
    }
  }

  private static func standIns(_ family: AddressFamily) -> [RouteRequest] {
    [RouteRequest(family), RouteRequest(family, to: Destinations.lastStandIn(family))]
  }

  /// How often the machine has asked for a listing.
  package var listings: Int { effects.count { if case .list = $0 { true } else { false } } }

  /// Where in ``effects`` the machine asks a question.
  package func position(of request: RouteRequest) -> Int? {
    effects.firstIndex { if case .lookUp(_, request) = $0 { true } else { false } }
  }

  package func count(of effect: ReachabilityMachine.Effect) -> Int { effects.count { $0 == effect } }

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

  package mutating func handle(_ event: ReachabilityMachine.Event) {
    machine.handle(event, at: now).forEach { queue.insert($0, at: place) }
    guard !isPerforming else { return }
    isPerforming = true
    while let effect = queue.popLast() {
      place = queue.count
      perform(effect)
    }
    place = 0
    isPerforming = false
  }

  /// The DNS root server is where the first address that stands for the internet is, unless a test says otherwise.
  private func answer(to request: RouteRequest) -> RouteAnswer {
    if let answer = answers[request] { return answer }
    if request.scope == .rules { return .rules(RoutingRule.standard) }
    let isLast = request.position == Destinations.internet[request.family].count - 1
    let isInternet = request.isBeneath || machine.destinations.areStandIns
    guard isLast, isInternet else { return .noRoute }
    let first = RouteRequest(request.family, request.scope, to: request.isBeneath ? RouteRequest.internet : 0)
    return answers[first] ?? .noRoute
  }

  private mutating func perform(_ effect: ReachabilityMachine.Effect) {
    effects.append(effect)
    switch effect {
    case .list(let question):
      lastQuestion = question
      handle(.listingBegan)
      if refusedListings > 0 {
        refusedListings -= 1
        return handle(.failed)
      }
      for fact in facts { handle(.fact(fact)) }
      let isWhole = interruptions == 0
      interruptions = max(0, interruptions - 1)
      handle(.listingEnded(question, isWhole: isWhole))
    case .settle:
      let action = onSettle
      action?(&self)
    case .readLink(let index):
      if let link = links[index] { handle(.fact(link)) }
    case .lookUp(let question, let request):
      lastQuestion = question
      if refusedLookUps > 0 {
        refusedLookUps -= 1
        return handle(.failed)
      }
      handle(.answered(question, request, answer(to: request)))
    case .lookUpBothStandIns(let question, let family):
      lastQuestion = question
      for request in Self.standIns(family) {
        if refusedLookUps > 0 {
          refusedLookUps -= 1
          return handle(.failed)
        }
        handle(.answered(question, request, answer(to: request)))
      }
    case .watchRouters:
      let action = onWatchRouters
      action?(&self)
    // Whatever changes in here is told.
    case .watch, .resolve: break
    case .arm(let timer, let deadline): timers[timer] = deadline
    case .disarm(let timer): timers[timer] = nil
    case .publish(let change):
      published.append(
        NetworkPath(
          verdict: machine.published, reason: machine.reason, interfaces: machine.evaluator.snapshot.interfaces,
          allowsLinkLocalIPv4: machine.configuration.allowsLinkLocalIPv4))
      changes.append(change)
    }
  }
}
