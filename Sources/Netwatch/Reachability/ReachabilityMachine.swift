/// Decides what to ask the kernel and what to publish. Pure: facts and answers in, effects out.
///
/// ```
///                  start, overrun, resume
///                          |
///                          v        interrupted: again, later after a pause
///   settled ----drained--> listing <---+
///    ^   |                   | whole --+--> asking
///    |   +--drained, relevant-------------> asking ---+ the answer may be older than the facts: settle, ask once more
///    +------------------ publish ------------ | <-----+
/// ```
///
/// The kernel uses a new IPv6 address at once but announces it up to some milliseconds later: the second answer still names
/// an address that is not known. Then links and addresses are listed again, once, before that counts as having none.
package struct ReachabilityMachine: Sendable {
  /// The number of a listing, or of the lookups of one inquiry. Only the answers to the newest one count.
  package typealias Question = UInt32

  package enum Event: Hashable, Sendable {
    case started
    case fact(NetworkEvent)
    /// Nothing more can be read for now, so it is time to look at what has changed.
    case drained
    /// The kernel has dropped messages.
    case overrun
    /// The machine was suspended.
    case resumed
    case listingBegan
    /// A listing has ended. Not whole: the kernel's tables changed during the listing.
    case listingEnded(Question, isWhole: Bool)
    /// The kernel refused to list or to answer.
    case failed
    /// The addresses of the target's host, the best one first; none if it has none.
    case resolved([IPAddress])
    /// No resolver has answered for the target's host.
    case unresolved
    case answered(Question, RouteRequest, RouteAnswer)
    case timerFired(Timer)
  }

  package enum Effect: Hashable, Sendable {
    /// List links and addresses. `listingBegan`, the facts and `listingEnded` follow.
    case list(Question)
    /// Wait until the kernel has done what it has announced.
    case settle
    /// Read one link again.
    case readLink(Int32)
    case lookUp(Question, RouteRequest)
    /// Look up the first and the last address of ``Destinations/internet``, one after the other.
    case lookUpBothStandIns(Question, AddressFamily)
    /// ``ReachabilityMachine/watched`` has changed: only changes of the routes there matter.
    case watch
    /// ``ReachabilityMachine/watchedRouters`` has changed.
    case watchRouters
    /// A host without addresses may have some now.
    case resolve
    case arm(Timer, at: Duration)
    case disarm(Timer)
    /// ``ReachabilityMachine/published``, its reason or the links have changed.
    case publish(Change)
  }

  package enum Timer: Hashable, Sendable, CaseIterable { case hold, retry, resolution, hostRoutes, expiry }

  /// The subject of a published path.
  package enum Change: Hashable, Sendable { case initial, reachability, interfaces, wifi }

  enum State: Hashable {
    /// Links and addresses are not known, or not any more. With it: why they are listed again; nil for the first time.
    case listing(Question, attempts: Int, because: ReachabilityReason?)
    /// Nothing is being asked. `stale`: why links and addresses have to be listed again; nil if they are known.
    case settled(stale: ReachabilityReason?)
    case asking(Inquiry)
  }

  /// The lookups under way.
  struct Inquiry: Hashable {
    /// Why links and addresses were listed just before. Nil if they were not.
    var cause: ReachabilityReason?
    /// Why links and addresses have to be listed again afterwards. Nil if they are known.
    var stale: ReachabilityReason?
    var question: Question = 0
    var families: AddressFamilies = []
    var outstanding = 0
    /// The families in which the kernel has announced a change before making it.
    var early: AddressFamilies = []
    /// The families in which a route is gone.
    var removed: AddressFamilies = []
    /// The families in which the kernel's own choice contradicts what is known. Another way that was found since does not
    /// make up for it.
    var contradicted: AddressFamilies = []
    /// Whether the question was asked again after `settle`, so that the answer is current.
    var isConfirmed = false
    /// Whether the question is asked again because a router is watched only since the answer.
    var followsWatch = false
  }

  /// What is known of the name of the target's host. Until a resolver has answered for it, the status is unknown.
  enum Name: Hashable {
    /// The first path waits for the addresses. `isTimed`: the timer runs.
    case awaited(isTimed: Bool)
    /// No resolver has answered, and the wait for the addresses is over.
    case unanswered
    /// A resolver has answered, or the target has no name.
    case known
  }

  package internal(set) var statistics = MonitorStatistics()
  package let configuration: MonitorConfiguration
  package internal(set) var evaluator: PathEvaluator
  private(set) var state = State.listing(0, attempts: 0, because: nil)
  var lastQuestion: Question = 0
  /// The changes since the last look.
  var pending = SnapshotDelta()
  /// The addresses that the target stands for: fixed, or as the resolver has reported.
  package internal(set) var destinations: Destinations
  package internal(set) var answers = RouteAnswers()
  // Neither is optional, because an optional of this size is copied at every look.
  var concluded = NetworkPath.Verdict.unknown
  /// The verdict that was published last, and its reason. Not part of the effects, which stay small and free of references.
  package internal(set) var published = NetworkPath.Verdict.unknown
  package internal(set) var reason = ReachabilityReason.initial
  var hasPublished = false
  /// The links that were published last. Only kept if a change of the links alone is published; otherwise they would be
  /// copied at each change.
  var publishedInterfaces = InterfaceTable()
  /// Why everything was lost, while the loss is held back and not published yet.
  var heldReason: ReachabilityReason?
  var name: Name
  /// The route of a router advertisement that carries IPv6. Nil if there is none. `isTimed`: the timer runs to its end.
  var advertised: (hop: RouteHop, isTimed: Bool)?
  /// The routers whose entries in the kernel's table of neighbours decide which of several is used: the one in use, and those
  /// that do not answer.
  package internal(set) var watchedRouters: (inUse: Neighbour?, dead: [Neighbour]) = (nil, [])
  /// The time at which routes to single addresses were last listed. Nil while they do not decide what carries a tunnel.
  /// `isTimed`: the timer runs to their next listing.
  var hostRoutes: (listed: Duration, isTimed: Bool)?
  /// Whether links and addresses were listed again because the kernel uses one that it has not announced.
  var hasListedForContradiction = false
  /// The number of consecutive refused lookups.
  var refusals = 0

  /// Creates a machine.
  ///
  /// - Parameter namespaces: The namespaces that this process does not share with the machine's first process.
  package init(configuration: MonitorConfiguration = .init(), namespaces: OwnNamespaces = []) {
    self.configuration = configuration
    evaluator = PathEvaluator(configuration: configuration, namespaces: namespaces)
    destinations = Destinations(of: configuration.target)
    if case .host = configuration.target { name = .awaited(isTimed: false) } else { name = .known }
  }

  /// Whether links and addresses are still to be listed.
  package var isListing: Bool {
    if case .listing = state { true } else { false }
  }

  /// Whether changes of routes to single addresses matter.
  package var usesHostRoutes: Bool { hostRoutes != nil }

  /// The addresses to which a change of the routes can move the path: the target, and the other ends of tunnels.
  package var watched: [IPAddress] {
    // The search for what carries a tunnel asks for the way to the internet.
    var addresses = Destinations.internet.all
    let remotes = evaluator.snapshot.interfaces.compactMap(\.remote)
    for address in destinations.all + remotes where !addresses.contains(address) { addresses.append(address) }
    return addresses
  }

  /// Returns the address that a lookup is about. Nil if it leads nowhere.
  package func address(of request: RouteRequest) -> IPAddress? {
    switch request.scope {
    case .remote(let tunnel): return evaluator.snapshot.interface(tunnel)?.remote
    case .source:
      guard case .hop(let hop) = answers[RouteRequest(request.family, .plain, to: request.destination)] else {
        return nil
      }
      return hop.source
    case .rules, .hostRoute: return nil
    case .plain, .allHops, .lifetime, .link, .marked:
      let addresses = request.isBeneath ? Destinations.internet[request.family] : destinations[request.family]
      return addresses.indices.contains(request.position) ? addresses[request.position] : nil
    }
  }

  /// Returns the link that the tunnel of a lookup names as its own; 0 for none.
  package func lower(of request: RouteRequest) -> Int32 {
    guard case .remote(let tunnel) = request.scope else { return 0 }
    return evaluator.snapshot.interface(tunnel)?.standsOn ?? 0
  }

  package mutating func handle(_ event: Event, at now: Duration) -> Effects {
    var effects = Effects()
    state = transition(on: event, at: now, &effects)
    return effects
  }

  private mutating func transition(on event: Event, at now: Duration, _ effects: inout Effects) -> State {
    // Not a switch over the pair of both, which would be copied with everything that the event carries.
    switch event {
    case .fact(let fact):
      statistics.facts += 1
      pending.merge(evaluator.snapshot.apply(fact))

    case .drained:
      return lookAgain(at: now, &effects)

    case .answered(_, let request, let answer) where request.scope == .lifetime:
      takeLifetime(of: answer, at: now, &effects)

    case .answered(let question, let request, let answer):
      guard case .asking(let inquiry) = state, inquiry.question == question else { break }
      return accept(answer, to: request, in: inquiry, at: now, &effects)

    case .started:
      return list(&effects)

    case .overrun:
      statistics.overruns += 1
      return state.stale(because: .resynced)

    case .resumed:
      statistics.resumes += 1
      return state.stale(because: .resumed)

    case .listingBegan:
      evaluator.snapshot.beginListing()

    case .listingEnded(let question, let isWhole):
      guard case .listing(question, let attempts, let cause) = state else { break }
      guard isWhole else {
        statistics.interruptedListings += 1
        return listAgain(after: attempts, because: cause, at: now, &effects)
      }
      statistics.listings += 1
      pending.merge(evaluator.snapshot.endListing())
      return inquire(Inquiry(cause: cause), at: now, &effects)

    case .failed:
      return fail(at: now, &effects)

    case .resolved(let addresses):
      setAddresses(addresses, &effects)
      if case .listing = state { break }
      return inquire(Inquiry(cause: state.cause, stale: state.stale), at: now, &effects)

    case .unresolved:
      stopWaitingForName(&effects)
      return giveUpResolving(at: now, &effects)

    case .timerFired(let timer):
      return fire(timer, at: now, &effects)
    }
    return state
  }

  private mutating func fire(_ timer: Timer, at now: Duration, _ effects: inout Effects) -> State {
    switch timer {
    case .retry:
      return isListing ? list(&effects) : state
    case .resolution:
      return giveUpResolving(at: now, &effects)
    case .hold:
      guard let reason = heldReason else { return state }
      heldReason = nil
      published = concluded
      publish(reason, .reachability, &effects)
      return state
    case .expiry:
      advertised = nil
      pending.routing.formUnion(.ipv6)
    case .hostRoutes:
      hostRoutes?.isTimed = false
      answers.forgetHostRoutes()
      pending.routing = .both
    }
    return lookAgain(at: now, &effects)
  }

  /// Looks at what has changed, now or after what is under way.
  private mutating func lookAgain(at now: Duration, _ effects: inout Effects) -> State {
    guard case .settled(let stale) = state else { return state }
    return stale == nil ? inquire(Inquiry(), at: now, &effects) : list(&effects)
  }

  // MARK: Hosts

  private mutating func setAddresses(_ addresses: [IPAddress], _ effects: inout Effects) {
    stopWaitingForName(&effects)
    name = .known
    // connect(2) takes :: for ::1, as it does 0.0.0.0, which filters of names answer; RTM_GETROUTE would follow the default route.
    let new = Destinations(addresses.map { $0 == .v6(0) ? .v6(1) : $0 })
    if new != destinations {
      destinations = new
      answers = RouteAnswers()
      effects.append(.watch)
    }
    // A question under way is about the old addresses.
    pending.routing = destinations.families
  }

  private func stopWaitingForName(_ effects: inout Effects) {
    if case .awaited(isTimed: true) = name { effects.append(.disarm(.resolution)) }
  }

  private mutating func giveUpResolving(at now: Duration, _ effects: inout Effects) -> State {
    guard case .awaited = name else { return state }
    name = .unanswered
    guard case .settled(let stale) = state else { return state }
    // Nothing has been asked without an address, so nothing is missing.
    var trail = EvaluationTrail()
    var evaluation = evaluator.evaluate(answers, to: destinations, &trail)
    return conclude(&evaluation, Inquiry(stale: stale), at: now, &effects)
  }
}

extension ReachabilityMachine.State {
  /// Why links and addresses have been listed, or are being listed.
  var cause: ReachabilityReason? {
    switch self {
    case .listing(_, _, let cause): cause
    case .settled: nil
    case .asking(let inquiry): inquiry.cause
    }
  }

  /// Why links and addresses have to be listed again.
  var stale: ReachabilityReason? {
    switch self {
    case .listing: nil
    case .settled(let stale): stale
    case .asking(let inquiry): inquiry.stale
    }
  }

  /// Returns this state with links and addresses to be listed again.
  func stale(because cause: ReachabilityReason) -> Self {
    switch self {
    case .listing(let question, let attempts, _): return .listing(question, attempts: attempts, because: cause)
    case .settled: return .settled(stale: cause)
    case .asking(var inquiry):
      inquiry.stale = cause
      return .asking(inquiry)
    }
  }
}

extension ReachabilityMachine {
  /// The effects of one event, in order. An array that does not allocate for its first two elements.
  ///
  /// Not generic: a generic type that another module uses goes through the runtime's tables, and cost as much as a system
  /// call for each event.
  package struct Effects: Hashable, Sendable {
    private var first: Effect?
    private var second: Effect?
    private var rest: [Effect] = []

    package init() {}

    package mutating func append(_ effect: Effect) {
      if first == nil {
        first = effect
      } else if second == nil {
        second = effect
      } else {
        rest.append(effect)
      }
    }

    package func forEach(_ body: (Effect) -> Void) {
      if let first { body(first) }
      if let second { body(second) }
      for effect in rest { body(effect) }
    }
  }
}
