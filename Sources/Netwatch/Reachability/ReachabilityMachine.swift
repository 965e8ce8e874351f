/// Decides what to ask the kernel and what to publish. Pure: facts and answers in, questions and paths out.
///
/// ```
///               started, or idle after an overrun or a resume
///                          |
///                          v         inconsistent: again, later after a pause
///   idle ----drained--> dumping <----+
///    ^                     | consistent
///    |                     v
///    |  drained,        asking ----+ further questions, or the answers may be older than the facts: all once more
///    |  relevant  ------>  |  <----+
///    +------ publish ------+
/// ```
///
/// A round of questions is one output, and all its answers are one input.
///
/// The kernel uses a new IPv6 address at once but announces it up to some milliseconds later: the second answer still names
/// an address that is not known. Then links and addresses are dumped again, once, before that counts as having none.
package struct ReachabilityMachine: Sendable {
  package enum Input: Hashable, Sendable {
    case started
    case fact(NetworkEvent)
    /// Nothing more can be read for now, so it is time to look at what has changed.
    case drained
    /// The kernel has dropped messages.
    case overrun
    /// The machine was suspended.
    case resumed
    case dumpBegan
    /// A dump has ended. Not consistent: the kernel's tables changed during the dump.
    case dumped(isConsistent: Bool)
    /// The kernel refused a dump or a question.
    case refused
    /// The addresses of the target's host, the best one first; none if it has none.
    case resolved([InternetAddress])
    /// No resolver has answered for the target's host.
    case unresolved
    case answered([RouteQuery: RouteAnswer])
    case timerFired(Timer)
    /// The rules of the machine are these from now on.
    case ruled(NetworkRules)
  }

  package enum Output: Hashable, Sendable {
    /// Dump links and addresses. `dumpBegan`, the facts and `dumped` follow.
    case dump
    /// Read links again. The facts follow.
    case readLinks([Int32])
    /// Ask the kernel; after pending changes, wait first until the kernel has done what it has announced. `answered` follows.
    case query([RouteQuery], afterPendingChanges: Bool)
    /// Have these changes announced from now on, and no others.
    case watch(Watch)
    /// A host without addresses may have some now.
    case resolve
    /// Fire the timer at a time, and not at an earlier one; nil stops it.
    case timer(Timer, at: Duration?)
    case publish(NetworkPath, Change)
  }

  package enum Timer: Hashable, Sendable, CaseIterable { case hold, retry, resolution, hostRoutes, expiry, recheck }

  /// The subject of a published path.
  package enum Change: Hashable, Sendable {
    case initial, reachability, interfaces, wifi
    /// Only ``NetworkPath/carriers`` differ: no news for people.
    case carriers
  }

  /// The routes and routers whose changes matter.
  package struct Watch: Hashable, Sendable {
    /// The addresses to which a change of the routes can move the path, besides those of ``Destinations/internet``: the target,
    /// and the other ends of tunnels.
    package var addresses: [InternetAddress] = []
    /// Whether routes to single addresses matter.
    package var includesHostRoutes = false
    /// The routers in use in place of which the kernel takes another one when they fail.
    package var routers: [Neighbour] = []
    /// The routers that do not answer, and those that the kernel could have chosen as well. When it hears one, it may take that.
    package var otherRouters: [Neighbour] = []
    /// Whether it matters when another machine becomes known.
    package var includesNeighbours = false

    package init() {}
  }

  private enum Phase: Hashable {
    /// Links and addresses are not known, or not any more. With it: why they are dumped again; nil for the first time.
    case dumping(attempts: Int, because: ReachabilityReason?)
    /// Nothing is being asked. `stale`: why links and addresses have to be dumped again; nil if they are known.
    case idle(stale: ReachabilityReason?)
    case asking(Round)

    /// Why links and addresses have been dumped, or are being dumped.
    var cause: ReachabilityReason? {
      switch self {
      case .dumping(_, let cause): cause
      case .idle: nil
      case .asking(let round): round.cause
      }
    }

    /// Why links and addresses have to be dumped again.
    var stale: ReachabilityReason? {
      switch self {
      case .dumping: nil
      case .idle(let stale): stale
      case .asking(let round): round.stale
      }
    }

    /// Returns this phase with links and addresses to be dumped again.
    func stale(because cause: ReachabilityReason) -> Self {
      switch self {
      case .dumping(let attempts, _): return .dumping(attempts: attempts, because: cause)
      case .idle: return .idle(stale: cause)
      case .asking(var round):
        round.stale = cause
        return .asking(round)
      }
    }
  }

  /// The questions under way.
  private struct Round: Hashable {
    /// Why links and addresses were dumped just before. Nil if they were not.
    var cause: ReachabilityReason?
    /// Why links and addresses have to be dumped again afterwards. Nil if they are known.
    var stale: ReachabilityReason?
    /// The families that are asked about.
    var families: AddressFamilies = []
    /// The families whose rules have changed.
    var rules: AddressFamilies = []
    /// The families in which the kernel has announced a change before making it.
    var early: AddressFamilies = []
    /// The families in which the kernel's own choice contradicts what is known. Another way that was found since does not
    /// make up for it.
    var contradicted: AddressFamilies = []
    /// Whether the questions are asked again after pending changes, so that the answers are current.
    var isAskedAgain = false
    /// Whether the questions are asked again because a router is watched only since the answers.
    var followsWatch = false
    /// Whether the questions are asked although the kernel has announced nothing.
    var isRecheck = false
  }

  /// What is known of the name of the target's host. Until a resolver has answered for it, the status is unknown.
  private enum Name: Hashable {
    /// The first path waits for the addresses until this time; nil until it would be published.
    case awaited(until: Duration?)
    /// No resolver has answered, and the wait for the addresses is over.
    case unanswered
    /// A resolver has answered, or the target has no name.
    case known
  }

  /// What was published last.
  private struct Published: Hashable {
    var verdict: NetworkPath.Verdict
    var reason: ReachabilityReason
    var interfaces: InterfaceTable
  }

  /// The number of interrupted or refused dumps in a row before a pause.
  private static let eagerAttempts = 8
  private static let retryPause = Duration.milliseconds(100)
  /// Routes to single addresses are dumped at most this often, because a router has many.
  private static let hostRoutePause = Duration.seconds(1)
  /// The time that the first path waits for the addresses of a host.
  private static let resolutionPatience = Duration.seconds(2)
  /// The pauses before the kernel is asked again while nothing can be reached although a link is usable.
  private static let recheckPauses: [Duration] = [.milliseconds(100), .milliseconds(300), .seconds(1), .seconds(3)]
  /// The time after the last announcement from which on the kernel is asked rarely.
  private static let recheckPatience = Duration.seconds(60)
  private static let rareRecheckPause = Duration.seconds(10)

  package private(set) var statistics = MonitorStatistics()
  package let configuration: MonitorConfiguration
  /// The known links and addresses, and the rules by which a path is judged.
  package private(set) var evaluator: PathEvaluator
  /// The addresses that the target stands for: fixed, or as the resolver has reported.
  package private(set) var destinations: Destinations
  /// The kernel's answers so far. They are kept until something happens that could change them.
  package private(set) var answers: [RouteQuery: RouteAnswer] = [:]
  private var phase = Phase.dumping(attempts: 0, because: nil)
  /// The changes since the last look.
  private var pending = SnapshotDelta()
  private var watch = Watch()
  private var name: Name
  /// The verdict of the last round. It differs from what is published while a loss is held back.
  private var concluded = NetworkPath.Verdict.unknown
  private var published: Published?
  /// The links that carry traffic besides that of the last verdict.
  private var otherCarriers: [Int32] = []
  /// Why everything was lost, while the loss is held back and not published yet.
  private var heldReason: ReachabilityReason?
  /// Whether the last verdict needed to know the way of a tunnel's own packets.
  private var asksBeneathTunnel = false
  /// The time at which routes to single addresses were last asked for. Nil while they do not decide what carries a tunnel.
  private var hostRoutesAsked: Duration?
  /// The questions whose answers the last verdict depends on.
  private var used: [RouteQuery] = []
  /// The ends of the IPv6 routes in use.
  private var routeEnds: [RouteHop: RouteEnd] = [:]
  /// The routers among which the kernel chooses. Empty if it has no choice.
  private var rivals: [Neighbour] = []
  /// The first of these ends, for which a timer runs.
  private var expiry: Duration?
  /// The time of the last announcement that could matter.
  private var lastNews = Duration.zero
  /// The number of times that the kernel was asked again since then. Nil if it is not to be asked.
  private var rechecks: Int?
  /// Whether links and addresses were dumped again because the kernel uses one that it has not announced.
  private var hasDumpedForContradiction = false
  /// The number of consecutive refused questions.
  private var refusals = 0

  /// Creates a machine.
  ///
  /// - Parameters:
  ///   - rules: The rules of the machine. Default: none.
  ///   - namespaces: The namespaces that this process does not share with the machine's first process.
  ///   - user: The id of the user whose packets reach the target.
  ///   - vrf: The index of the VRF to which the sockets of this process are bound; 0 for none.
  package init(
    configuration: MonitorConfiguration = .init(), rules: NetworkRules = NetworkRules(),
    namespaces: IsolatedNamespaces = [],
    user: UInt32 = 0, vrf: Int32 = 0
  ) {
    self.configuration = configuration
    evaluator = PathEvaluator(configuration: configuration, namespaces: namespaces, user: user, vrf: vrf)
    _ = evaluator.use(rules, besides: configuration)
    destinations = Destinations(of: configuration.target)
    if case .host = configuration.target { name = .awaited(until: nil) } else { name = .known }
  }

  /// Whether links and addresses are still to be dumped.
  package var isDumping: Bool { if case .dumping = phase { true } else { false } }

  /// The path as it was published last, with the links as they are now.
  package var path: NetworkPath {
    NetworkPath(
      verdict: published?.verdict ?? .unknown, reason: published?.reason ?? .initial,
      interfaces: evaluator.snapshot.interfaces,
      otherCarriers: published?.verdict.isReachable == true ? otherCarriers : [],
      allowsLinkLocalIPv4: evaluator.allowsLinkLocalIPv4)
  }

  package mutating func handle(_ input: Input, at now: Duration) -> [Output] {
    var outputs: [Output] = []
    phase = phase(after: input, at: now, &outputs)
    return outputs
  }

  private mutating func phase(after input: Input, at now: Duration, _ outputs: inout [Output]) -> Phase {
    switch input {
    case .fact(.neighbour(let router, isDead: false)) where !isAwaited(router):
      if watch.includesNeighbours, evaluator.liveCarriers.contains(router.interfaceIndex) { answers[.neighbours] = nil }

    case .fact(let fact):
      statistics.facts += 1
      pending.merge(evaluator.snapshot.apply(fact))
      if case .neighbour(let router, _) = fact, !pending.routing.isEmpty {
        pending.routing.formUnion(families(by: router))
      }

    case .drained:
      return lookAgain(at: now, &outputs)

    case .started:
      if case .dumping(let attempts, let cause) = phase { return dump(after: attempts, because: cause, &outputs) }
      return dump(after: 0, because: phase.stale ?? phase.cause, &outputs)

    case .overrun:
      statistics.overruns += 1
      return phase.stale(because: .resynced)

    case .resumed:
      statistics.resumes += 1
      return phase.stale(because: .resumed)

    case .dumpBegan:
      evaluator.snapshot.beginListing()

    case .dumped(let isConsistent):
      guard case .dumping(let attempts, let cause) = phase else { break }
      guard isConsistent else {
        statistics.interruptedListings += 1
        return dumpAgain(after: attempts, because: cause, at: now, &outputs)
      }
      statistics.listings += 1
      pending.merge(evaluator.snapshot.endListing())
      return ask(Round(cause: cause), at: now, &outputs)

    case .answered(let new):
      guard case .asking(var round) = phase else {
        takeLifetimes(from: new, at: now, &outputs)
        return takeRivals(from: new, at: now, &outputs)
      }
      answers.merge(new) { $1 }
      for (query, answer) in new where evaluator.contradicts(answer) {
        round.contradicted.formUnion(AddressFamilies(query.family))
      }
      return judge(round, at: now, &outputs)

    case .refused:
      return refused(at: now, &outputs)

    case .resolved(let addresses):
      take(addresses, &outputs)
      if case .dumping = phase { break }
      return ask(Round(cause: phase.cause, stale: phase.stale), at: now, &outputs)

    case .unresolved:
      return giveUpResolving(at: now, &outputs)

    case .timerFired(let timer):
      return fire(timer, at: now, &outputs)

    case .ruled(let rules):
      guard evaluator.use(rules, besides: configuration) else { break }
      // A listing reports each link again, and the rules apply to it then.
      guard case .idle(let stale) = phase else { return phase.stale(because: .rulesChanged) }
      return dump(after: 0, because: stale ?? .rulesChanged, &outputs)
    }
    return phase
  }

  private mutating func fire(_ timer: Timer, at now: Duration, _ outputs: inout [Output]) -> Phase {
    switch timer {
    case .retry:
      guard case .dumping(let attempts, let cause) = phase else { return phase }
      return dump(after: attempts, because: cause, &outputs)
    case .resolution:
      return giveUpResolving(at: now, &outputs)
    case .hold:
      if let reason = heldReason {
        heldReason = nil
        publish(concluded, reason, .reachability, &outputs)
      }
      return phase
    case .expiry:
      expiry = nil
      pending.routing.formUnion(.ipv6)
      for (hop, end) in routeEnds {
        if case .looming(let time) = end, time <= now { routeEnds[hop] = .unknown }
      }
      // The router may have renewed it.
      pending.announcesRoutes = true
    case .recheck:
      guard case .idle(nil) = phase else { return phase }
      rechecks = rechecks.map { $0 + 1 }
      pending.routing = .both
      return ask(Round(isRecheck: true), at: now, &outputs)
    case .hostRoutes:
      forgetHostRoutes()
      pending.routing = .both
    }
    return lookAgain(isRecheck: true, at: now, &outputs)
  }

  /// Looks at what has changed, now or after what is under way.
  private mutating func lookAgain(
    isRecheck: Bool = false, at now: Duration, _ outputs: inout [Output]
  ) -> Phase {
    guard case .idle(let stale) = phase else { return phase }
    if stale != nil { return dump(after: 0, because: stale, &outputs) }
    return ask(Round(isRecheck: isRecheck), at: now, &outputs)
  }

  // MARK: Dumps

  private func dump(after attempts: Int, because cause: ReachabilityReason?, _ outputs: inout [Output]) -> Phase {
    outputs.append(.dump)
    return .dumping(attempts: attempts, because: cause)
  }

  private func dumpAgain(
    after attempts: Int, because cause: ReachabilityReason?, at now: Duration, _ outputs: inout [Output]
  ) -> Phase {
    if attempts < Self.eagerAttempts { return dump(after: attempts + 1, because: cause, &outputs) }
    outputs.append(.timer(.retry, at: now + Self.retryPause))
    return .dumping(attempts: attempts + 1, because: cause)
  }

  /// Reacts to a refusal, which may pass. If it lasts, a status that cannot be trusted any more is not kept.
  private mutating func refused(at now: Duration, _ outputs: inout [Output]) -> Phase {
    var cause = phase.stale ?? phase.cause
    var attempts = refusals
    if case .dumping(let before, _) = phase { attempts = before } else { refusals += 1 }
    if attempts >= Self.eagerAttempts, let published, published.verdict.status != .unknown {
      stopHolding(&outputs)
      cause = .resynced
      publish(.unknown, .unresolved, .reachability, &outputs)
    }
    return dumpAgain(after: attempts, because: cause, at: now, &outputs)
  }

  // MARK: Questions

  /// Begins a round about what has changed.
  private mutating func ask(_ round: Round, at now: Duration, _ outputs: inout [Output]) -> Phase {
    // Not for the first dump: it shows what there already was when the host was asked for.
    if destinations.isEmpty, name != .awaited(until: nil), !pending.routing.isEmpty { outputs.append(.resolve) }
    var round = round
    round.families = pending.routing.intersection(destinations.families)
    round.rules = round.cause == nil ? pending.rules : .both
    pending.rules = []
    if !round.rules.isEmpty { forget { $0.kind == .rules && round.rules.contains($0.family) } }
    if !round.isRecheck, !round.families.isEmpty {
      lastNews = now
      if rechecks != nil { rechecks = 0 }
    }
    if asksBeneathTunnel, !pending.routing.isEmpty { round.families = destinations.families }
    if !round.families.isEmpty {
      refreshHostRoutes(at: now, &outputs)
      if !pending.dependents.isEmpty { outputs.append(.readLinks(pending.dependents)) }
      round.early = pending.announcedEarly
      // What is read of the links is part of this round. Only the list of links still has to be published.
      pending.routing = []
      pending.dependents = []
      pending.announcedEarly = []
      forgetAnswers(of: round)
    }
    return judge(round, at: now, &outputs)
  }

  /// Asks what is missing for a verdict; else concludes the round.
  private mutating func judge(
    _ round: Round, afterPendingChanges: Bool = false, at now: Duration, _ outputs: inout [Output]
  ) -> Phase {
    var trace = EvaluationTrace()
    let evaluation = evaluator.evaluate(answers, to: destinations, &trace)
    asksBeneathTunnel = trace.asksBeneathTunnel
    used = trace.used
    if trace.missing.contains(where: { $0.kind == .hostRoutes }) { hostRoutesAsked = now }
    if trace.missing.isEmpty, !trace.usesHostRoutes, hostRoutesAsked != nil {
      forgetHostRoutes()
      hostRoutesAsked = nil
      outputs.append(.timer(.hostRoutes, at: nil))
    }
    // Before anybody asks, so that no change is missed.
    let asksForNeighbours = (trace.missing + trace.used).contains(.neighbours)
    updateWatch(includesNeighbours: asksForNeighbours && !evaluation.verdict.isLocalOnly, &outputs)
    guard trace.missing.isEmpty else {
      outputs.append(.query(trace.missing, afterPendingChanges: afterPendingChanges))
      return .asking(round)
    }
    remember(trace.servers)
    if !round.isAskedAgain, isDoubtful(round, evaluation) {
      var round = round
      round.isAskedAgain = true
      round.contradicted = []
      forgetAnswers(of: round)
      return judge(round, afterPendingChanges: true, at: now, &outputs)
    }
    if round.followsWatch, let published, published.verdict.isReachable, !evaluation.verdict.isReachable {
      // Nothing has announced the loss yet. The announcement is on its way, and tells the reason.
      outputs.append(.timer(.recheck, at: now + Self.recheckPauses[0]))
      return .idle(stale: round.stale)
    }
    if round.contradicted.isEmpty {
      hasDumpedForContradiction = false
    } else if !hasDumpedForContradiction, !round.contradicted.isSubset(of: evaluation.verdict.families) {
      hasDumpedForContradiction = true
      return dump(after: 0, because: round.stale ?? round.cause, &outputs)
    }
    return conclude(evaluation, round, at: now, &outputs)
  }

  /// Remembers the routes to the servers of tunnels. Those of other tunnels are kept, as long as these exist: the traffic may
  /// enter them again.
  private mutating func remember(_ servers: [Int32: PathEvaluator.ServerRoutes]) {
    for (tunnel, routes) in servers { evaluator.servers[tunnel] = routes }
    for (tunnel, known) in evaluator.servers
    where known.routes.isEmpty || evaluator.snapshot.position(of: tunnel) == nil { evaluator.servers[tunnel] = nil }
  }

  /// Has everything asked again that a round is about. Rules are kept until they change, and routes to single addresses for some
  /// time.
  private mutating func forgetAnswers(of round: Round) {
    let families = asksBeneathTunnel ? .both : round.families
    forget { query in
      switch query.kind {
      case .hostRoutes: false
      // The watch reports new ones.
      case .neighbours: !round.isRecheck
      case .rules: round.rules.contains(query.family)
      case .way, .sourcedWay, .route, .lifetime: families.contains(query.family)
      }
    }
  }

  private mutating func forget(where isForgotten: (RouteQuery) -> Bool) {
    for query in answers.keys.filter(isForgotten) { answers[query] = nil }
  }

  /// Returns whether the answer may be older than what the kernel has announced.
  ///
  /// This is so if the answer changes nothing after an early announcement, or contradicts what is known. The kernel announces
  /// nothing more when it makes the change. An answer that leads over another link, although nothing is wrong with the old one,
  /// is doubtful too: between equal routes whose routers it has not heard of for a while, the kernel changes with each lookup.
  private func isDoubtful(_ round: Round, _ evaluation: PathEvaluator.Evaluation) -> Bool {
    if !round.contradicted.isEmpty { return true }
    guard published != nil else { return false }
    // Beneath a tunnel, another link may carry the traffic by the other family, and the path stays the same.
    if asksBeneathTunnel { return !round.early.isEmpty }
    if isDetour(evaluation.verdict) { return true }
    let early = round.early.intersection(round.families)
    return !early.isEmpty && !early.isDisjoint(with: evaluation.verdict.familiesEqual(to: concluded))
  }

  /// Returns whether a verdict leads over another one of equal routes than before, although nothing is wrong with the old one's link.
  private func isDetour(_ verdict: NetworkPath.Verdict) -> Bool {
    [(verdict.ipv4, concluded.ipv4), (verdict.ipv6, concluded.ipv6)].contains { new, old in
      guard let new, let old, (new.interfaceIndex, new.gateway) != (old.interfaceIndex, old.gateway) else {
        return false
      }
      let (one, other) = (Self.router(of: old), Self.router(of: new))
      guard let one, let other, !evaluator.snapshot.deadRouters.contains(one) else { return false }
      // Routers on one link are not asked about, and are equal where they advertise themselves.
      let areEqual = one.interfaceIndex == other.interfaceIndex || rivals.contains(one) && rivals.contains(other)
      return areEqual && evaluator.fault(ofLink: old.interfaceIndex) == nil
    }
  }

  private static func router(of way: NetworkPath.FamilyPath) -> Neighbour? {
    way.gateway.map { Neighbour(interfaceIndex: way.interfaceIndex, address: $0) }
  }

  // MARK: Routes to single addresses

  /// Has routes to single addresses asked for again: at once, or when the pause since the last time is over.
  private mutating func refreshHostRoutes(at now: Duration, _ outputs: inout [Output]) {
    guard let asked = hostRoutesAsked else { return }
    if now - asked >= Self.hostRoutePause { return forgetHostRoutes() }
    outputs.append(.timer(.hostRoutes, at: asked + Self.hostRoutePause))
  }

  private mutating func forgetHostRoutes() { forget { $0.kind == .hostRoutes } }

  // MARK: Watching

  private mutating func updateWatch(includesNeighbours: Bool, _ outputs: inout [Output]) {
    var new = watch
    new.addresses = destinations.isInternet ? [] : destinations.all
    for remote in evaluator.snapshot.interfaces.remotes where !new.addresses.contains(remote) {
      new.addresses.append(remote)
    }
    new.includesHostRoutes = hostRoutesAsked != nil
    new.includesNeighbours = includesNeighbours
    set(new, &outputs)
  }

  private mutating func set(_ new: Watch, _ outputs: inout [Output]) {
    guard new != watch else { return }
    watch = new
    outputs.append(.watch(new))
  }

  // MARK: Hosts

  private mutating func take(_ addresses: [InternetAddress], _ outputs: inout [Output]) {
    if case .awaited(until: _?) = name { outputs.append(.timer(.resolution, at: nil)) }
    name = .known
    // connect(2) takes :: for ::1, as it does 0.0.0.0, which filters of names answer; RTM_GETROUTE would follow the default route.
    let new = Destinations(addresses.map { $0 == .v6(0) ? .v6(1) : $0 })
    if new != destinations {
      destinations = new
      answers = [:]
    }
    // A round under way is about the old addresses.
    pending.routing = destinations.families
  }

  private mutating func giveUpResolving(at now: Duration, _ outputs: inout [Output]) -> Phase {
    guard case .awaited(let end) = name else { return phase }
    if end != nil { outputs.append(.timer(.resolution, at: nil)) }
    name = .unanswered
    guard case .idle(let stale) = phase else { return phase }
    // Nothing has been asked without an address, so nothing is missing.
    return judge(Round(stale: stale), at: now, &outputs)
  }

  // MARK: Publishing

  private mutating func conclude(
    _ evaluation: PathEvaluator.Evaluation, _ round: Round, at now: Duration, _ outputs: inout [Output]
  ) -> Phase {
    var evaluation = evaluation
    if destinations.isEmpty, name != .known { evaluation.verdict = .unknown }
    concluded = evaluation.verdict
    if case .awaited(let end) = name, published == nil {
      // The first path waits for the addresses of the host, but not for ever.
      let end = end ?? now + Self.resolutionPatience
      outputs.append(.timer(.resolution, at: end))
      name = .awaited(until: end)
      pending = SnapshotDelta()
      return .idle(stale: round.stale)
    }
    let before = published?.verdict
    let hasOtherCarriers = otherCarriers != evaluation.otherCarriers
    otherCarriers = evaluation.otherCarriers
    if before == concluded {
      stopHolding(&outputs)
      if hasOtherCarriers { outputs.append(.publish(path, .carriers)) }
    } else if let before, before.isReachable, !concluded.isReachable, configuration.hold > .zero {
      if heldReason == nil { outputs.append(.timer(.hold, at: now + configuration.hold.asDelay)) }
      heldReason = reason(for: evaluation, round.cause)
    } else {
      stopHolding(&outputs)
      let change = before == nil ? Change.initial : .reachability
      publish(concluded, reason(for: evaluation, round.cause), change, &outputs)
    }
    // Changes that were undone within one turn do not count.
    if pending.isVisible, let published,
      !configuration.publishesInterfaceChanges || evaluator.snapshot.interfaces != published.interfaces
    {
      // A list of links does not explain why nothing is reachable.
      let reason = published.verdict.isReachable ? .interfaceChanged : published.reason
      publish(published.verdict, reason, .interfaces, &outputs)
    }
    let announcesRoutes = pending.announcesRoutes
    pending = SnapshotDelta()
    refusals = 0
    setRecheck(at: now, &outputs)
    return followRoutes(announcesRoutes, after: round, at: now, &outputs)
  }

  private mutating func stopHolding(_ outputs: inout [Output]) {
    if heldReason != nil { outputs.append(.timer(.hold, at: nil)) }
    heldReason = nil
  }

  private mutating func publish(
    _ verdict: NetworkPath.Verdict, _ reason: ReachabilityReason, _ change: Change, _ outputs: inout [Output]
  ) {
    if change != .interfaces {
      // That another machine is known is no change of reachability.
      let isStill = published?.verdict.status == .notReachable && verdict.status == .notReachable
      if !isStill { statistics.transitions += 1 }
      pending.isVisible = false
    }
    published = Published(verdict: verdict, reason: reason, interfaces: evaluator.snapshot.interfaces)
    outputs.append(.publish(path, change))
  }

  private func reason(
    for evaluation: PathEvaluator.Evaluation, _ cause: ReachabilityReason?
  ) -> ReachabilityReason {
    let new = evaluation.verdict
    guard let old = published?.verdict else { return new.isReachable ? .initial : evaluation.failure }
    if cause == .rulesChanged { return .rulesChanged }
    guard new.isReachable else { return evaluator.lossReason(published: old, evaluation) }
    if let cause { return cause }
    if !old.isReachable { return .routeUp }
    if new.vpn?.interfaceIndex != old.vpn?.interfaceIndex { return new.vpn == nil ? .vpnDown : .vpnUp }
    if let families = new.vpn?.families, let before = old.vpn?.families, families != before {
      return families.isSuperset(of: before) ? .vpnUp : .vpnDown
    }
    if new.medium != old.medium { return .mediumChanged }
    if new.interfaceIndex != old.interfaceIndex || new.interfaceName != old.interfaceName || new.vpn != old.vpn {
      return .interfaceChanged
    }
    if new.ssid != old.ssid || new.cost != old.cost && new.ssid != nil { return .networkChanged }
    return .addressChanged
  }

  // MARK: Routes that end silently

  /// Follows the routes in use: the kernel stops using one without a message when its router fails, or when its time is over.
  /// It skips an expired one at once but announces that up to half a minute later.
  ///
  /// - Parameter isAnnounced: Whether some route has been announced, perhaps one in use with a new lifetime.
  private mutating func followRoutes(
    _ isAnnounced: Bool, after round: Round, at now: Duration, _ outputs: inout [Output]
  ) -> Phase {
    let ways = waysInUse
    let rivalQuestions = evaluator.rivalQuestions(to: waysToDestinations(among: ways))
    if rivalQuestions.isEmpty { rivals = [] }
    let unwatched = watchRouters(of: ways.map(\.hop), isAfterDump: round.cause != nil, &outputs)
    if !unwatched.isEmpty, !round.followsWatch {
      // Nobody has heard what became of the router between the answer and the watch. Once: a kernel without router
      // preferences takes turns between routers that it knows nothing of.
      pending.routing = unwatched
      pending.announcesRoutes = isAnnounced
      return ask(Round(stale: round.stale, followsWatch: true, isRecheck: round.isRecheck), at: now, &outputs)
    }
    let before = routeEnds
    routeEnds = [:]
    var questions: [RouteQuery] = []
    for (query, hop) in ways where query.family == .ipv6 && routeEnds[hop] == nil {
      if query.asksForRoute {
        // The answer has the end already.
        let old = before.first { $0.key.isSameWay(as: hop) }?.value
        routeEnds[hop] = before[hop] ?? RouteEnd(after: hop.lifetime, old, at: now)
        continue
      }
      routeEnds[hop] = before[hop] ?? .unknown
      if isAnnounced || before[hop] == nil { questions.append(query.asking(.lifetime)) }
    }
    if !round.families.isEmpty { questions += rivalQuestions }
    if !questions.isEmpty { outputs.append(.query(questions, afterPendingChanges: false)) }
    if questions.isEmpty, routeEnds != before { setExpiry(&outputs) }
    return .idle(stale: round.stale)
  }

  /// The ways that the verdict depends on, with the questions to which they are the answers: those of programs, and those of
  /// tunnels.
  private var waysInUse: [(query: RouteQuery, hop: RouteHop)] {
    guard concluded.isReachable else { return [] }
    return used.compactMap { query in
      guard query.kind == .way, case .hop(let hop) = answers[query], hop.gateway != nil else { return nil }
      return (query, hop)
    }
  }

  /// Those of the ways in use that do not lead to a single server of a VPN.
  private func waysToDestinations(
    among ways: [(query: RouteQuery, hop: RouteHop)]
  ) -> [(query: RouteQuery, hop: RouteHop)] {
    ways.filter { query, _ in
      destinations[query.family].contains(query.destination)
        || Destinations.internet[query.family].contains(query.destination)
    }
  }

  /// Returns the families whose packets may leave by a router. IPv4 routes can have IPv6 routers (RFC 8950).
  private func families(by router: Neighbour) -> AddressFamilies {
    let isForBoth = waysInUse.contains { $0.query.family == .ipv4 && $0.hop.gateway?.family == .ipv6 }
    return AddressFamilies(router.address.family).union(isForBoth ? .both : .none)
  }

  /// Returns whether the kernel may take a router that it has heard of: the filter also passes another link's with the same address.
  private func isAwaited(_ router: Neighbour) -> Bool {
    watch.otherRouters.contains(router) || evaluator.snapshot.deadRouters.contains(router)
  }

  /// Has the routers of these ways watched, if they are not dead, and the dead ones.
  ///
  /// - Returns: The families of the routers that were not watched before.
  private mutating func watchRouters(
    of hops: [RouteHop], isAfterDump: Bool, _ outputs: inout [Output]
  ) -> AddressFamilies {
    let hasChoice = !hops.isEmpty && evaluator.hasChoice(ofLiveLinks: false)
    var routers: [Neighbour] = []
    for hop in hops where hop.origin == RouteHop.advertisementOrigin || hasChoice {
      if let router = hop.router, !routers.contains(router) { routers.append(router) }
    }
    let dead = evaluator.snapshot.deadRouters
    for router in routers where dead.contains(router) {
      // The kernel takes a dead router if all are dead, and takes turns then. One that it takes in place of a router that is
      // not known to be dead is alive again, or is being looked for. After a dump, its return may be among what was lost.
      let replacesLivingOne = (watch.routers + rivals).contains {
        $0.address.family == router.address.family && !routers.contains($0) && !dead.contains($0)
      }
      if replacesLivingOne || isAfterDump { evaluator.snapshot.revive(router) }
    }
    var new = watch
    new.routers = routers.filter { !evaluator.snapshot.deadRouters.contains($0) }
    let unwatched = new.routers.filter { !watch.routers.contains($0) }
    watchOthers(new, &outputs)
    return unwatched.reduce(.none) { $0.union(AddressFamilies($1.address.family)) }
  }

  /// Has the dead routers watched too, and those that the kernel could have chosen as well.
  private mutating func watchOthers(_ new: Watch, _ outputs: inout [Output]) {
    var new = new
    new.otherRouters = evaluator.snapshot.deadRouters
    new.otherRouters += rivals.filter { !new.otherRouters.contains($0) && !new.routers.contains($0) }
    set(new, &outputs)
  }

  /// Takes the routers among which the kernel chooses. Of new ones nobody has heard what became of them before the watch, so the
  /// kernel is asked again.
  private mutating func takeRivals(
    from new: [RouteQuery: RouteAnswer], at now: Duration, _ outputs: inout [Output]
  ) -> Phase {
    guard new.keys.contains(where: { $0.kind == .way && $0.link != 0 }) else { return phase }
    let before = rivals
    rivals = evaluator.rivals(of: waysToDestinations(among: waysInUse), new)
    watchOthers(watch, &outputs)
    let unwatched = rivals.filter { !before.contains($0) }
    guard case .idle(nil) = phase, !unwatched.isEmpty else { return phase }
    for rival in unwatched { pending.routing.formUnion(families(by: rival)) }
    return ask(Round(followsWatch: true, isRecheck: true), at: now, &outputs)
  }

  /// Takes the ends of the routes in use, as the kernel has told them.
  private mutating func takeLifetimes(
    from new: [RouteQuery: RouteAnswer], at now: Duration, _ outputs: inout [Output]
  ) {
    for (query, answer) in new where query.kind == .lifetime {
      guard case .hop(let way) = answers[query.asking(.way)], let end = routeEnds[way] else { continue }
      let same = answer.hops.first { $0.isSameWay(as: way) }
      if answer.isWay, same == nil { continue }
      routeEnds[way] = RouteEnd(after: same?.lifetime ?? 0, end, at: now)
    }
    setExpiry(&outputs)
  }

  private mutating func setExpiry(_ outputs: inout [Output]) {
    let next = routeEnds.values.compactMap(\.time).min()
    guard next != expiry else { return }
    expiry = next
    outputs.append(.timer(.expiry, at: next))
  }

  // MARK: Asking again

  /// Has the kernel asked again while nothing can be reached although a link is usable, because there is much that the kernel
  /// does not announce: the failure of a neighbour may have it choose another route.
  private mutating func setRecheck(at now: Duration, _ outputs: inout [Output]) {
    guard !concluded.isReachable, !destinations.isEmpty, evaluator.hasChoice(ofLiveLinks: true) else {
      if rechecks != nil { outputs.append(.timer(.recheck, at: nil)) }
      rechecks = nil
      return
    }
    let count = rechecks ?? 0
    rechecks = count
    let pause =
      now - lastNews > Self.recheckPatience
      ? Self.rareRecheckPause : Self.recheckPauses[min(count, Self.recheckPauses.count - 1)]
    outputs.append(.timer(.recheck, at: now + pause))
  }
}
