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
/// The kernel uses a new IPv6 address at once and tells of it up to some milliseconds later: the second answer still names
/// an address that is not known. Then links and addresses are listed again, once, before that counts as having none.
package struct ReachabilityMachine: Sendable {
  package enum Event: Hashable, Sendable {
    case started
    case fact(NetworkEvent)
    /// Nothing more can be read for now: time to look at what has changed.
    case drained
    /// The kernel has dropped messages.
    case overrun
    /// The machine was suspended.
    case resumed
    case listingBegan
    /// Not whole: the kernel's tables changed under the listing.
    case listingEnded(isWhole: Bool)
    /// The kernel refused to list or to answer.
    case failed
    /// The addresses of the target's host, the best one first; none where it has none.
    case resolved([IPAddress])
    /// Nobody has answered for the target's host.
    case unresolved
    case answered(RouteRequest, RouteAnswer)
    case timerFired(Timer)
  }

  package enum Effect: Hashable, Sendable {
    /// List links and addresses: `listingBegan`, facts, `listingEnded`.
    case list
    /// Wait until the kernel has done what it has announced.
    case settle
    /// Read one link again.
    case readLink(Int32)
    case lookUp(RouteRequest)
    /// ``ReachabilityMachine/watched`` is new: changes of the routes there matter, and no others.
    case watch
    /// ``ReachabilityMachine/watchedRouters`` is new.
    case watchRouters
    /// A host without addresses may have some now.
    case resolve
    case arm(Timer, at: Duration)
    case disarm(Timer)
    /// ``ReachabilityMachine/published`` is new, or its reason or the links are.
    case publish(Change)
  }

  package enum Timer: Hashable, Sendable, CaseIterable { case hold, retry, resolution, hostRoutes, expiry }

  /// What a published path is about.
  package enum Change: Hashable, Sendable { case initial, reachability, interfaces }

  private enum State: Hashable {
    /// Links and addresses are not known, or not any more.
    case listing(attempts: Int)
    case settled
    case asking(Inquiry)
  }

  /// Lookups under way.
  private struct Inquiry: Hashable {
    var families: AddressFamilies
    var outstanding = 0
    /// Families in which the kernel has announced something before doing it.
    var early: AddressFamilies = []
    /// Families in which the kernel's own choice denied what is already known. Another way that was found since does not make
    /// up for it.
    var contradicted: AddressFamilies = []
    /// Asked again behind `settle`: this is the truth.
    var isConfirmed = false
  }

  /// Interrupted or failed listings that follow each other at once, before a pause.
  private static let eagerAttempts = 8
  private static let retryPause = Duration.milliseconds(100)
  /// Routes to single addresses are listed at most this often: a router has many.
  private static let hostRoutePause = Duration.seconds(1)
  /// How long the first path waits for the addresses of a host.
  private static let resolutionPatience = Duration.seconds(2)

  package private(set) var statistics = MonitorStatistics()
  package let configuration: MonitorConfiguration
  package private(set) var evaluator: PathEvaluator
  private var state = State.listing(attempts: 0)
  /// What has changed since the last look.
  private var pending = SnapshotDelta()
  private var needsListing = true
  /// Why links and addresses were listed again; nil in ordinary times.
  private var listingCause: ReachabilityReason?
  /// What the target stands for: fixed, or as the resolver has said.
  package private(set) var destinations: Destinations
  package private(set) var answers = RouteAnswers()
  /// The last judgement looked beneath a tunnel, where either family may carry the other one.
  private var usesTunnel = false
  // Neither is optional: an optional of this size is copied at every look.
  private var concluded = NetworkPath.Verdict.unknown
  /// What was published last, and why. Kept out of the effects, which stay small and free of references.
  package private(set) var published = NetworkPath.Verdict.unknown
  private var hasPublished = false
  package private(set) var reason = ReachabilityReason.initial
  /// The links that were published last, where they are published for themselves: else to keep them would mean to copy
  /// them at each change.
  private var publishedInterfaces = InterfaceTable()
  /// Why everything was lost, while that is not published yet and the hold runs.
  private var heldReason: ReachabilityReason?
  /// The addresses of the target are known, or have been waited for long enough.
  private var isResolved: Bool
  /// Somebody has answered for the name of the target, if it is one. Until then its status is unknown.
  private var isNameKnown = false
  private var isWaitingForResolution = false
  /// The route of a router advertisement that carries IPv6, and whose end is known or asked for; nil if there is none.
  private var advertised: RouteHop?
  private var isExpiryArmed = false
  /// Such a route has been announced, perhaps with a new lifetime.
  private var announcesRoutes = false
  /// The routers that are in use or dead, and whose entries in the kernel's table of neighbours are listened to.
  package private(set) var watchedRouters = WatchedRouters()
  /// Links and addresses were listed again because the kernel uses one that it has not told of.
  private var hasListedForContradiction = false
  /// Refused lookups that follow each other.
  private var refusals = 0
  /// Routes to single addresses decide what carries a tunnel, so that their changes matter.
  package private(set) var usesHostRoutes = false
  /// When they were listed last.
  private var hostRoutesListed = Duration.zero
  private var isWaitingForHostRoutes = false

  /// - Parameter namespaces: those that this process has of its own.
  package init(configuration: MonitorConfiguration = .init(), namespaces: OwnNamespaces = []) {
    self.configuration = configuration
    evaluator = PathEvaluator(configuration: configuration, namespaces: namespaces)
    destinations = Destinations(of: configuration.target)
    if case .host = configuration.target { isResolved = false } else { isResolved = true }
  }

  /// Links and addresses are not known.
  package var isListing: Bool {
    if case .listing = state { true } else { false }
  }

  /// Where a change of the routes can move the path: the target, and the other ends of tunnels.
  package var watched: [IPAddress] {
    // What carries a tunnel is asked for by way of the internet.
    var addresses = Destinations.internet.all
    let remotes = evaluator.snapshot.interfaces.compactMap(\.remote)
    for address in destinations.all + remotes where !addresses.contains(address) { addresses.append(address) }
    return addresses
  }

  /// The address that a lookup is about; nil where it leads nowhere.
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
      let addresses = request.isBeneath ? StandIns.addresses(request.family) : destinations[request.family]
      return addresses.indices.contains(request.position) ? addresses[request.position] : nil
    }
  }

  /// The link that the tunnel of a lookup names as its own; 0 for none.
  package func lower(of request: RouteRequest) -> Int32 {
    guard case .remote(let tunnel) = request.scope else { return 0 }
    return evaluator.snapshot.interface(tunnel)?.lowerIndex ?? 0
  }

  package mutating func handle(_ event: Event, at now: Duration) -> Effects {
    var effects = Effects()
    state = transition(on: event, at: now, &effects)
    return effects
  }

  private mutating func transition(on event: Event, at now: Duration, _ effects: inout Effects) -> State {
    // Not over the pair of both, which would be copied with all that the event carries.
    switch event {
    case .started:
      return list(&effects)

    case .fact(let fact):
      statistics.facts += 1
      pending.merge(evaluator.snapshot.apply(fact))

    case .overrun:
      statistics.overruns += 1
      needsListing = true
      listingCause = .resynced

    case .resumed:
      statistics.resumes += 1
      needsListing = true
      listingCause = .resumed

    case .drained:
      return lookAgain(at: now, &effects)

    case .listingBegan:
      evaluator.snapshot.beginListing()

    case .listingEnded(let isWhole):
      guard case .listing(let attempts) = state else { break }
      guard isWhole else {
        statistics.interruptedListings += 1
        return listAgain(after: attempts, at: now, &effects)
      }
      needsListing = false
      statistics.listings += 1
      pending.merge(evaluator.snapshot.endListing())
      return inquire(at: now, &effects)

    case .failed:
      if case .listing(let attempts) = state { return fail(after: attempts, at: now, &effects) }
      needsListing = true
      refusals += 1
      return fail(after: refusals - 1, at: now, &effects)

    case .answered(let request, let answer) where request.scope == .lifetime:
      takeLifetime(of: answer, at: now, &effects)

    case .answered(let request, let answer):
      guard case .asking(let inquiry) = state else { break }
      return accept(answer, to: request, in: inquiry, at: now, &effects)

    case .resolved(let addresses):
      take(resolved: addresses, &effects)
      if case .listing = state { break }
      return inquire(at: now, &effects)

    case .unresolved:
      if !isResolved, isWaitingForResolution { effects.append(.disarm(.resolution)) }
      giveUpResolving(at: now, &effects)

    case .timerFired(.retry):
      if case .listing = state { return list(&effects) }

    case .timerFired(.expiry):
      isExpiryArmed = false
      advertised = nil
      pending.routing.formUnion(.ipv6)
      return lookAgain(at: now, &effects)

    case .timerFired(.resolution):
      giveUpResolving(at: now, &effects)

    case .timerFired(.hostRoutes):
      isWaitingForHostRoutes = false
      answers.forgetHostRoutes()
      pending.routing = .both
      return lookAgain(at: now, &effects)

    case .timerFired(.hold):
      guard let reason = heldReason else { break }
      heldReason = nil
      published = concluded
      publish(reason, .reachability, &effects)
    }
    return state
  }

  // MARK: Hosts

  private mutating func take(resolved addresses: [IPAddress], _ effects: inout Effects) {
    if !isResolved, isWaitingForResolution { effects.append(.disarm(.resolution)) }
    isResolved = true
    isNameKnown = true
    let new = Destinations(addresses)
    if new != destinations {
      destinations = new
      answers = RouteAnswers()
      effects.append(.watch)
    }
    // A question that is under way is about the old ones.
    pending.routing = destinations.families
  }

  private mutating func giveUpResolving(at now: Duration, _ effects: inout Effects) {
    guard !isResolved else { return }
    isResolved = true
    // Nothing has been asked without an address, so nothing is missing.
    var trail = EvaluationTrail()
    if case .settled = state { conclude(evaluator.judge(answers, to: destinations, &trail), at: now, &effects) }
  }

  // MARK: Listing

  private mutating func list(_ effects: inout Effects) -> State {
    effects.append(.list)
    if case .listing(let attempts) = state { return .listing(attempts: attempts) }
    return .listing(attempts: 0)
  }

  private func listAgain(after attempts: Int, at now: Duration, _ effects: inout Effects) -> State {
    if attempts < Self.eagerAttempts {
      effects.append(.list)
    } else {
      effects.append(.arm(.retry, at: now + Self.retryPause))
    }
    return .listing(attempts: attempts + 1)
  }

  /// A refusal may pass; a status that nobody can vouch for is not kept while it lasts.
  private mutating func fail(after attempts: Int, at now: Duration, _ effects: inout Effects) -> State {
    if attempts >= Self.eagerAttempts, hasPublished, published.status != .unknown {
      stopHolding(&effects)
      listingCause = .resynced
      published = .unknown
      publish(.unresolved, .reachability, &effects)
    }
    return listAgain(after: attempts, at: now, &effects)
  }

  // MARK: Asking

  /// What has changed is looked at now, or behind what is under way.
  private mutating func lookAgain(at now: Duration, _ effects: inout Effects) -> State {
    guard case .settled = state else { return state }
    return needsListing ? list(&effects) : inquire(at: now, &effects)
  }

  private mutating func inquire(at now: Duration, _ effects: inout Effects) -> State {
    watchRemotes(&effects)
    // Not for the first listing: that is what there was when the host was asked for.
    let isNews = isResolved || isWaitingForResolution
    if destinations.isEmpty, isNews, !pending.routing.isEmpty { effects.append(.resolve) }
    var families = pending.routing.intersection(destinations.families)
    if usesTunnel, !pending.routing.isEmpty { families = destinations.families }
    guard !families.isEmpty else {
      var trail = EvaluationTrail()
      let judgement = evaluator.judge(answers, to: destinations, &trail)
      guard trail.missing.isEmpty else { return ask(further: trail, Inquiry(families: []), at: now, &effects) }
      conclude(judgement, at: now, &effects)
      return .settled
    }
    refreshHostRoutes(at: now, &effects)
    for index in pending.dependents { effects.append(.readLink(index)) }
    var inquiry = Inquiry(families: families)
    inquiry.early = pending.announcedEarly
    // What `readLink` finds is part of this inquiry; only the list of links still has to be told.
    pending.routing = []
    pending.dependents = []
    pending.announcedEarly = []
    return ask(inquiry, &effects)
  }

  private mutating func ask(_ inquiry: Inquiry, _ effects: inout Effects) -> State {
    answers.forget(usesTunnel ? .both : inquiry.families)
    var inquiry = inquiry
    // What is missing at first is always the same; to judge only to find that out would cost as much as a system call.
    for family in AddressFamily.allCases where inquiry.families.contains(family) {
      if destinations.areStandIns {
        effects.append(.lookUp(RouteRequest(family, .plain, to: evaluator.snapshot.standIn(family))))
        inquiry.outstanding += 1
        continue
      }
      for destination in destinations[family].indices {
        effects.append(.lookUp(RouteRequest(family, .plain, to: Int8(clamping: destination))))
        inquiry.outstanding += 1
      }
    }
    return .asking(inquiry)
  }

  private mutating func accept(
    _ answer: RouteAnswer, to request: RouteRequest, in inquiry: Inquiry, at now: Duration, _ effects: inout Effects
  ) -> State {
    var inquiry = inquiry
    answers.keep(answer, to: request)
    if asksFurther(answer, to: request) {
      effects.append(.lookUp(RouteRequest(request.family, .plain, to: StandIns.last(request.family))))
      return .asking(inquiry)
    }
    inquiry.outstanding -= 1
    if evaluator.contradicts(answer) { inquiry.contradicted.formUnion(AddressFamilies(request.family)) }
    guard inquiry.outstanding <= 0 else { return .asking(inquiry) }

    watchRemotes(&effects)
    var trail = EvaluationTrail()
    let judgement = evaluator.judge(answers, to: destinations, &trail)
    guard trail.missing.isEmpty else { return ask(further: trail, inquiry, at: now, &effects) }
    if usesHostRoutes, !trail.usesHostRoutes { stopUsingHostRoutes(&effects) }
    usesTunnel = answers.lookBeneathTunnels
    if !inquiry.isConfirmed, isDoubtful(inquiry, judgement) {
      inquiry.isConfirmed = true
      inquiry.contradicted = []
      inquiry.outstanding = 0
      effects.append(.settle)
      return ask(inquiry, &effects)
    }
    if inquiry.contradicted.isEmpty {
      hasListedForContradiction = false
    } else if !hasListedForContradiction, !inquiry.contradicted.isSubset(of: judgement.verdict.families) {
      hasListedForContradiction = true
      return list(&effects)
    }
    conclude(judgement, at: now, &effects)
    return .settled
  }

  /// Another address has to stand for the internet. To judge only to find that out would cost as much as a system call.
  private func asksFurther(_ answer: RouteAnswer, to request: RouteRequest) -> Bool {
    guard destinations.areStandIns, case .plain = request.scope, !request.isBeneath, !request.isForLastStandIn else {
      return false
    }
    switch answer {
    case .noRoute, .refused, .own: return true
    case .hop, .hops, .rules: return false
    }
  }

  /// Before anybody asks for the way to the other end of a tunnel, the routes there are watched.
  private mutating func watchRemotes(_ effects: inout Effects) {
    if pending.movesRemotes { effects.append(.watch) }
    pending.movesRemotes = false
  }

  /// Asks what the first answers have made necessary.
  private mutating func ask(
    further trail: EvaluationTrail, _ inquiry: Inquiry, at now: Duration, _ effects: inout Effects
  ) -> State {
    var inquiry = inquiry
    var asked: [RouteRequest] = []
    for request in trail.missing where !asked.contains(request) { asked.append(request) }
    if trail.usesHostRoutes { useHostRoutes(for: asked, at: now, &effects) }
    for request in asked { effects.append(.lookUp(request)) }
    inquiry.outstanding = asked.count
    return .asking(inquiry)
  }

  // MARK: Routes to single addresses

  /// Their changes are watched before they are listed, so that none falls between.
  private mutating func useHostRoutes(for requests: [RouteRequest], at now: Duration, _ effects: inout Effects) {
    guard requests.contains(where: \.isForHostRoute) else { return }
    if !usesHostRoutes { effects.append(.watch) }
    usesHostRoutes = true
    hostRoutesListed = now
  }

  /// What was listed lately holds for a moment more.
  private mutating func refreshHostRoutes(at now: Duration, _ effects: inout Effects) {
    guard usesHostRoutes, !isWaitingForHostRoutes else { return }
    if now - hostRoutesListed >= Self.hostRoutePause { return answers.forgetHostRoutes() }
    isWaitingForHostRoutes = true
    effects.append(.arm(.hostRoutes, at: hostRoutesListed + Self.hostRoutePause))
  }

  private mutating func stopUsingHostRoutes(_ effects: inout Effects) {
    usesHostRoutes = false
    answers.forgetHostRoutes()
    if isWaitingForHostRoutes { effects.append(.disarm(.hostRoutes)) }
    isWaitingForHostRoutes = false
    effects.append(.watch)
  }

  /// An answer that changes nothing after something was announced early, or that denies what is already known, may have
  /// been given before the kernel did what it said. It says nothing more when it does it.
  private func isDoubtful(_ inquiry: Inquiry, _ judgement: PathEvaluator.Judgement) -> Bool {
    if !inquiry.contradicted.isEmpty { return true }
    guard hasPublished else { return false }
    // Beneath a tunnel another link may carry, by the other family, and the path is the same.
    if usesTunnel { return !inquiry.early.isEmpty }
    let unchanged = judgement.verdict.familiesEqual(to: concluded)
    return !inquiry.early.intersection(inquiry.families).intersection(unchanged).isEmpty
  }

  // MARK: Publishing

  private mutating func conclude(
    _ judgement: PathEvaluator.Judgement, at now: Duration, _ effects: inout Effects
  ) {
    if destinations.isEmpty, !isNameKnown, judgement.verdict.status != .unknown {
      var unknown = judgement
      unknown.verdict = .unknown
      return conclude(unknown, at: now, &effects)
    }
    concluded = judgement.verdict
    guard isResolved || hasPublished else {
      // The first path waits for the addresses of the host, not for ever.
      if !isWaitingForResolution { effects.append(.arm(.resolution, at: now + Self.resolutionPatience)) }
      isWaitingForResolution = true
      pending = SnapshotDelta()
      return
    }
    let isReachable = judgement.verdict.status.isReachable
    if hasPublished, judgement.verdict == published {
      stopHolding(&effects)
    } else if published.status.isReachable, !isReachable, configuration.hold > .zero {
      if heldReason == nil { effects.append(.arm(.hold, at: now + configuration.hold.asDelay)) }
      heldReason = reason(for: judgement)
    } else {
      stopHolding(&effects)
      let reason = reason(for: judgement)
      published = judgement.verdict
      publish(reason, hasPublished ? .reachability : .initial, &effects)
    }
    // What came and went within one turn has changed nothing.
    if pending.isVisible,
      !configuration.publishesInterfaceChanges || evaluator.snapshot.interfaces != publishedInterfaces
    {
      publish(.interfaceChanged, .interfaces, &effects)
    }
    announcesRoutes = announcesRoutes || pending.announcesRoutes
    pending = SnapshotDelta()
    listingCause = nil
    refusals = 0
    if advertised != nil || concluded.ipv6 != nil || !watchedRouters.dead.isEmpty { followAdvertisedRoute(&effects) }
    announcesRoutes = false
  }

  /// The kernel skips a route whose time is over at once, and says so up to half a minute later.
  private mutating func followAdvertisedRoute(_ effects: inout Effects) {
    let route = advertisedRoute(concluded)
    if let route {
      if route.hop != advertised || announcesRoutes {
        effects.append(.lookUp(RouteRequest(.ipv6, .lifetime, to: route.destination)))
      }
    } else {
      stopExpiry(&effects)
    }
    advertised = route?.hop
    var routers = WatchedRouters()
    routers.dead = evaluator.snapshot.deadRouters
    if let hop = route?.hop, let gateway = hop.gateway {
      let router = Neighbour(interfaceIndex: hop.interfaceIndex, address: gateway)
      if !routers.dead.contains(router) { routers.inUse = [router] }
    }
    guard routers != watchedRouters else { return }
    watchedRouters = routers
    effects.append(.watchRouters)
  }

  private mutating func takeLifetime(of answer: RouteAnswer, at now: Duration, _ effects: inout Effects) {
    let hop: RouteHop? =
      switch answer {
      case .hop(let hop): hop
      case .hops(let hops): hops.first
      case .noRoute, .refused, .own, .rules: nil
      }
    guard let hop, hop.lifetime > 0 else { return stopExpiry(&effects) }
    isExpiryArmed = true
    effects.append(.arm(.expiry, at: now + .milliseconds(10) * Int(hop.lifetime) + Self.expirySlack))
  }

  private mutating func stopExpiry(_ effects: inout Effects) {
    if isExpiryArmed { effects.append(.disarm(.expiry)) }
    isExpiryArmed = false
  }

  private mutating func stopHolding(_ effects: inout Effects) {
    if heldReason != nil { effects.append(.disarm(.hold)) }
    heldReason = nil
  }

  /// Tells of what has been put into ``published``.
  private mutating func publish(_ reason: ReachabilityReason, _ change: Change, _ effects: inout Effects) {
    if change != .interfaces {
      statistics.transitions += 1
      pending.isVisible = false
    }
    hasPublished = true
    if configuration.publishesInterfaceChanges { publishedInterfaces = evaluator.snapshot.interfaces }
    self.reason = reason
    effects.append(.publish(change))
  }

  // It changes nothing: what does not mutate gets a copy of the whole machine.
  private mutating func reason(for judgement: PathEvaluator.Judgement) -> ReachabilityReason {
    let isReachable = judgement.verdict.status.isReachable
    guard hasPublished else { return isReachable ? .initial : judgement.failure }
    guard isReachable else {
      return evaluator.lossReason(published: published, judgement)
    }
    if let listingCause { return listingCause }
    if !published.status.isReachable { return .routeUp }
    if judgement.verdict.vpn?.interfaceIndex != published.vpn?.interfaceIndex {
      return judgement.verdict.vpn == nil ? .vpnDown : .vpnUp
    }
    if judgement.verdict.medium != published.medium { return .mediumChanged }
    if judgement.verdict.interfaceIndex != published.interfaceIndex { return .interfaceChanged }
    if judgement.verdict.interfaceName != published.interfaceName { return .interfaceChanged }
    if judgement.verdict.vpn != published.vpn { return .interfaceChanged }
    if judgement.verdict.ssid != published.ssid { return .networkChanged }
    return .addressChanged
  }
}
