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
    case resolved([IPAddress])
    /// No resolver has answered for the target's host.
    case unresolved
    case answered([RouteQuery: RouteAnswer])
    case timerFired(Timer)
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

  package enum Timer: Hashable, Sendable, CaseIterable { case hold, retry, resolution, hostRoutes, expiry }

  /// The subject of a published path.
  package enum Change: Hashable, Sendable { case initial, reachability, interfaces, wifi }

  /// The routes and routers whose changes matter.
  package struct Watch: Hashable, Sendable {
    /// The addresses to which a change of the routes can move the path, besides those of ``Destinations/internet``: the target,
    /// and the other ends of tunnels.
    package var addresses: [IPAddress] = []
    /// Whether routes to single addresses matter.
    package var includesHostRoutes = false
    /// The router in use that has advertised itself. When it fails, the kernel takes another one.
    package var router: Neighbour?
    /// The routers that do not answer. When one returns, the kernel may take it again.
    package var deadRouters: [Neighbour] = []

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
    /// The families in which the kernel has announced a change before making it.
    var early: AddressFamilies = []
    /// The families in which the kernel's own choice contradicts what is known. Another way that was found since does not
    /// make up for it.
    var contradicted: AddressFamilies = []
    /// Whether the questions were asked again after pending changes, so that the answers are current.
    var isConfirmed = false
    /// Whether the questions are asked again because a router is watched only since the answers.
    var followsWatch = false
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

  /// The route of a router advertisement that carries IPv6.
  private struct AdvertisedRoute: Hashable {
    enum End { case unknown, told, looming }

    let hop: RouteHop
    /// Whether the kernel has told a time until its end, and that the end is less than one of the kernel's time steps away.
    var end = End.unknown
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
  /// Slightly more than the kernel's own time steps.
  package static let expirySlack = Duration.milliseconds(30)

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
  /// Why everything was lost, while the loss is held back and not published yet.
  private var heldReason: ReachabilityReason?
  /// Whether the last verdict needed to know the way of a tunnel's own packets.
  private var asksBeneathTunnel = false
  /// The time at which routes to single addresses were last asked for. Nil while they do not decide what carries a tunnel.
  private var hostRoutesAsked: Duration?
  /// Nil if no router advertisement carries IPv6.
  private var advertised: AdvertisedRoute?
  /// Whether links and addresses were dumped again because the kernel uses one that it has not announced.
  private var hasDumpedForContradiction = false
  /// The number of consecutive refused questions.
  private var refusals = 0

  /// Creates a machine.
  ///
  /// - Parameters:
  ///   - namespaces: The namespaces that this process does not share with the machine's first process.
  ///   - user: The id of the user whose packets reach the target.
  package init(configuration: MonitorConfiguration = .init(), namespaces: OwnNamespaces = [], user: UInt32 = 0) {
    self.configuration = configuration
    evaluator = PathEvaluator(configuration: configuration, namespaces: namespaces, user: user)
    destinations = Destinations(of: configuration.target)
    if case .host = configuration.target { name = .awaited(until: nil) } else { name = .known }
  }

  /// Whether links and addresses are still to be dumped.
  package var isDumping: Bool { if case .dumping = phase { true } else { false } }

  /// The path as it was published last, with the links as they are now.
  package var path: NetworkPath {
    NetworkPath(
      verdict: published?.verdict ?? .unknown, reason: published?.reason ?? .initial,
      interfaces: evaluator.snapshot.interfaces, allowsLinkLocalIPv4: configuration.allowsLinkLocalIPv4)
  }

  package mutating func handle(_ input: Input, at now: Duration) -> [Output] {
    var outputs: [Output] = []
    phase = phase(after: input, at: now, &outputs)
    return outputs
  }

  private mutating func phase(after input: Input, at now: Duration, _ outputs: inout [Output]) -> Phase {
    switch input {
    case .fact(let fact):
      statistics.facts += 1
      pending.merge(evaluator.snapshot.apply(fact))

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
        takeLifetime(from: new, at: now, &outputs)
        break
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
      pending.routing.formUnion(.ipv6)
      if advertised?.end == .looming { advertised?.end = .unknown }
      // The router may have renewed it.
      pending.announcesRoutes = true
    case .hostRoutes:
      forgetHostRoutes()
      pending.routing = .both
    }
    return lookAgain(at: now, &outputs)
  }

  /// Looks at what has changed, now or after what is under way.
  private mutating func lookAgain(at now: Duration, _ outputs: inout [Output]) -> Phase {
    guard case .idle(let stale) = phase else { return phase }
    return stale == nil ? ask(Round(), at: now, &outputs) : dump(after: 0, because: stale, &outputs)
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
    if asksBeneathTunnel, !pending.routing.isEmpty { round.families = destinations.families }
    if !round.families.isEmpty {
      refreshHostRoutes(at: now, &outputs)
      if !pending.dependents.isEmpty { outputs.append(.readLinks(pending.dependents)) }
      round.early = pending.announcedEarly
      // What is read of the links is part of this round. Only the list of links still has to be published.
      pending.routing = []
      pending.dependents = []
      pending.announcedEarly = []
      forgetAnswers(of: asksBeneathTunnel ? .both : round.families)
    }
    return judge(round, at: now, &outputs)
  }

  /// Asks what is missing for a verdict; else concludes the round.
  private mutating func judge(
    _ round: Round, afterPendingChanges: Bool = false, at now: Duration, _ outputs: inout [Output]
  ) -> Phase {
    var trail = EvaluationTrail()
    let evaluation = evaluator.evaluate(answers, to: destinations, &trail)
    asksBeneathTunnel = trail.asksBeneathTunnel
    if trail.missing.contains(where: { $0.kind == .hostRoute }) { hostRoutesAsked = now }
    if trail.missing.isEmpty, !trail.usesHostRoutes, hostRoutesAsked != nil {
      forgetHostRoutes()
      hostRoutesAsked = nil
      outputs.append(.timer(.hostRoutes, at: nil))
    }
    // Before anybody asks, so that no change is missed.
    updateWatch(&outputs)
    guard trail.missing.isEmpty else {
      outputs.append(.query(trail.missing, afterPendingChanges: afterPendingChanges))
      return .asking(round)
    }
    if !round.isConfirmed, isDoubtful(round, evaluation) {
      var round = round
      round.isConfirmed = true
      round.contradicted = []
      forgetAnswers(of: asksBeneathTunnel ? .both : round.families)
      return judge(round, afterPendingChanges: true, at: now, &outputs)
    }
    if round.contradicted.isEmpty {
      hasDumpedForContradiction = false
    } else if !hasDumpedForContradiction, !round.contradicted.isSubset(of: evaluation.verdict.families) {
      hasDumpedForContradiction = true
      return dump(after: 0, because: round.stale ?? round.cause, &outputs)
    }
    return conclude(evaluation, round, at: now, &outputs)
  }

  private mutating func forgetAnswers(of families: AddressFamilies) {
    for query in answers.keys.filter({ families.contains($0.family) && $0.kind != .hostRoute }) { answers[query] = nil }
  }

  /// Returns whether the answer may be older than what the kernel has announced.
  ///
  /// This is so if the answer changes nothing after an early announcement, or contradicts what is known. The kernel announces
  /// nothing more when it makes the change.
  private func isDoubtful(_ round: Round, _ evaluation: PathEvaluator.Evaluation) -> Bool {
    if !round.contradicted.isEmpty { return true }
    guard published != nil else { return false }
    // Beneath a tunnel, another link may carry the traffic by the other family, and the path stays the same.
    if asksBeneathTunnel { return !round.early.isEmpty }
    let early = round.early.intersection(round.families)
    return !early.isEmpty && !early.isDisjoint(with: evaluation.verdict.familiesEqual(to: concluded))
  }

  // MARK: Routes to single addresses

  /// Has routes to single addresses asked for again: at once, or when the pause since the last time is over.
  private mutating func refreshHostRoutes(at now: Duration, _ outputs: inout [Output]) {
    guard let asked = hostRoutesAsked else { return }
    if now - asked >= Self.hostRoutePause { return forgetHostRoutes() }
    outputs.append(.timer(.hostRoutes, at: asked + Self.hostRoutePause))
  }

  private mutating func forgetHostRoutes() { answers = answers.filter { $0.key.kind != .hostRoute } }

  // MARK: Watching

  private mutating func updateWatch(_ outputs: inout [Output]) {
    var new = watch
    new.addresses = destinations.isInternet ? [] : destinations.all
    for remote in evaluator.snapshot.interfaces.remotes where !new.addresses.contains(remote) {
      new.addresses.append(remote)
    }
    new.includesHostRoutes = hostRoutesAsked != nil
    set(new, &outputs)
  }

  /// Has the router that this route leads to watched, if it is not dead, and the dead ones.
  ///
  /// - Returns: Whether the router was not watched before.
  private mutating func watchRouter(of hop: RouteHop?, isAfterDump: Bool, _ outputs: inout [Output]) -> Bool {
    let router = hop.flatMap { hop in
      hop.gateway.map { Neighbour(interfaceIndex: hop.interfaceIndex, address: $0) }
    }
    // The kernel takes a dead router if all are dead, and takes turns then. One that it takes in place of a router that is
    // not known to be dead is alive again, or is being looked for. After a dump, its return may be among what was lost.
    let replacesLivingOne = watch.router.map { $0 != router && !evaluator.snapshot.deadRouters.contains($0) } ?? false
    if let router, replacesLivingOne || isAfterDump { evaluator.snapshot.revive(router) }
    var new = watch
    new.deadRouters = evaluator.snapshot.deadRouters
    new.router = router.flatMap { new.deadRouters.contains($0) ? nil : $0 }
    let isNew = new.router != nil && new.router != watch.router
    set(new, &outputs)
    return isNew
  }

  private mutating func set(_ new: Watch, _ outputs: inout [Output]) {
    guard new != watch else { return }
    watch = new
    outputs.append(.watch(new))
  }

  // MARK: Hosts

  private mutating func take(_ addresses: [IPAddress], _ outputs: inout [Output]) {
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
    if before == concluded {
      stopHolding(&outputs)
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
      publish(published.verdict, .interfaceChanged, .interfaces, &outputs)
    }
    let announcesRoutes = pending.announcesRoutes
    pending = SnapshotDelta()
    refusals = 0
    return followAdvertisedRoute(announcesRoutes, after: round, at: now, &outputs)
  }

  private mutating func stopHolding(_ outputs: inout [Output]) {
    if heldReason != nil { outputs.append(.timer(.hold, at: nil)) }
    heldReason = nil
  }

  private mutating func publish(
    _ verdict: NetworkPath.Verdict, _ reason: ReachabilityReason, _ change: Change, _ outputs: inout [Output]
  ) {
    if change != .interfaces {
      statistics.transitions += 1
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
    guard new.isReachable else { return evaluator.lossReason(published: old, evaluation) }
    if let cause { return cause }
    if !old.isReachable { return .routeUp }
    if new.vpn?.interfaceIndex != old.vpn?.interfaceIndex { return new.vpn == nil ? .vpnDown : .vpnUp }
    if new.medium != old.medium { return .mediumChanged }
    if new.interfaceIndex != old.interfaceIndex || new.interfaceName != old.interfaceName || new.vpn != old.vpn {
      return .interfaceChanged
    }
    if new.ssid != old.ssid || new.isExpensive != old.isExpensive && new.ssid != nil { return .networkChanged }
    return .addressChanged
  }

  // MARK: Advertised routes

  /// Follows the route that a router has advertised. Such routes end without an announcement, by their lifetime or with their
  /// router. The kernel skips an expired one at once but announces that up to half a minute later.
  ///
  /// - Parameter isAnnounced: Whether some route has been announced, perhaps this one with a new lifetime.
  private mutating func followAdvertisedRoute(
    _ isAnnounced: Bool, after round: Round, at now: Duration, _ outputs: inout [Output]
  ) -> Phase {
    let route = advertisedRoute()
    if watchRouter(of: route?.hop, isAfterDump: round.cause != nil, &outputs), !round.followsWatch {
      // Nobody has heard what became of the router between the answer and the watch. Once: a kernel without router
      // preferences takes turns between routers that it knows nothing of.
      pending.routing = .ipv6
      pending.announcesRoutes = isAnnounced
      return ask(Round(stale: round.stale, followsWatch: true), at: now, &outputs)
    }
    let isSame = route?.hop == advertised?.hop
    if let route, !isSame || isAnnounced {
      outputs.append(.query([route.query.asking(.lifetime)], afterPendingChanges: false))
    }
    if route == nil, !isSame { outputs.append(.timer(.expiry, at: nil)) }
    if !isSame { advertised = route.map { AdvertisedRoute(hop: $0.hop) } }
    return .idle(stale: round.stale)
  }

  /// Returns the IPv6 route in use if a router has advertised it, and the question to which it was the answer.
  private func advertisedRoute() -> (hop: RouteHop, query: RouteQuery)? {
    guard let path = concluded.ipv6, let gateway = path.gateway else { return nil }
    for query in destinations.ipv6.map(evaluator.query) {
      guard case .hop(let hop) = answers[query], hop.origin == RouteHop.advertisementOrigin, hop.gateway == gateway,
        hop.interfaceIndex == path.interfaceIndex
      else { continue }
      return (hop, query)
    }
    return nil
  }

  /// Sets the timer to the end of the advertised route, as the kernel has told it.
  private mutating func takeLifetime(from new: [RouteQuery: RouteAnswer], at now: Duration, _ outputs: inout [Output]) {
    guard let answer = new.first(where: { $0.key.kind == .lifetime })?.value else { return }
    let ticks =
      switch answer {
      case .hop(let hop): hop.lifetime
      case .hops(let hops): hops.first?.lifetime ?? 0
      case .noRoute, .refused, .own, .rules: 0 as UInt32
      }
    switch (ticks, advertised?.end) {
    case (1..., _):
      advertised?.end = .told
      outputs.append(.timer(.expiry, at: now + .milliseconds(10) * Int(ticks) + Self.expirySlack))
    // An end that is less than a time step away is told like none.
    case (_, .told):
      advertised?.end = .looming
      outputs.append(.timer(.expiry, at: now + Self.expirySlack))
    case (_, .looming): break
    case (_, .unknown), (_, nil): outputs.append(.timer(.expiry, at: nil))
    }
  }
}
