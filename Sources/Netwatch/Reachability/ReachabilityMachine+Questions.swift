/// The questions to the kernel, and the conclusions from its answers.
extension ReachabilityMachine {
  // Methods are marked as mutating and large values as inout although they change nothing: the others get a copy of the whole
  // machine, and each use of such a value would copy it.

  /// The number of interrupted or failed listings in a row before a pause.
  private static let eagerAttempts = 8
  private static let retryPause = Duration.milliseconds(100)
  /// Routes to single addresses are listed at most this often, because a router has many.
  private static let hostRoutePause = Duration.seconds(1)
  /// The time that the first path waits for the addresses of a host.
  private static let resolutionPatience = Duration.seconds(2)
  /// Slightly more than the kernel's own time steps.
  package static let expirySlack = Duration.milliseconds(30)

  // MARK: Listing

  mutating func list(_ effects: inout Effects) -> State {
    if case .listing(_, let attempts, let cause) = state { return list(after: attempts, because: cause, &effects) }
    return list(after: 0, because: state.stale ?? state.cause, &effects)
  }

  private mutating func list(after attempts: Int, because cause: ReachabilityReason?, _ effects: inout Effects) -> State
  {
    lastQuestion &+= 1
    effects.append(.list(lastQuestion))
    return .listing(lastQuestion, attempts: attempts, because: cause)
  }

  mutating func listAgain(
    after attempts: Int, because cause: ReachabilityReason?, at now: Duration, _ effects: inout Effects
  ) -> State {
    if attempts < Self.eagerAttempts { return list(after: attempts + 1, because: cause, &effects) }
    effects.append(.arm(.retry, at: now + Self.retryPause))
    return .listing(lastQuestion, attempts: attempts + 1, because: cause)
  }

  /// Reacts to a refusal, which may pass. If it lasts, a status that cannot be trusted any more is not kept.
  mutating func fail(at now: Duration, _ effects: inout Effects) -> State {
    var cause = state.stale ?? state.cause
    var attempts = refusals
    if case .listing(_, let before, _) = state { attempts = before } else { refusals += 1 }
    if attempts >= Self.eagerAttempts, hasPublished, published.status != .unknown {
      stopHolding(&effects)
      cause = .resynced
      published = .unknown
      publish(.unresolved, .reachability, &effects)
    }
    return listAgain(after: attempts, because: cause, at: now, &effects)
  }

  // MARK: Asking

  /// Starts an inquiry.
  ///
  /// - Parameter inquiry: Why it is made. What it is about follows from what has changed.
  mutating func inquire(_ inquiry: Inquiry, at now: Duration, _ effects: inout Effects) -> State {
    watchRemotes(&effects)
    // Not for the first listing: it shows what there already was when the host was asked for.
    if destinations.isEmpty, name != .awaited(isTimed: false), !pending.routing.isEmpty { effects.append(.resolve) }
    var families = pending.routing.intersection(destinations.families)
    if answers.lookBeneathTunnels, !pending.routing.isEmpty { families = destinations.families }
    guard !families.isEmpty else {
      var trail = EvaluationTrail()
      var evaluation = evaluator.evaluate(answers, to: destinations, &trail)
      guard trail.missing.isEmpty else { return ask(further: trail, inquiry, at: now, &effects) }
      return conclude(&evaluation, inquiry, at: now, &effects)
    }
    refreshHostRoutes(at: now, &effects)
    for index in pending.dependents { effects.append(.readLink(index)) }
    var inquiry = inquiry
    inquiry.families = families
    inquiry.early = pending.announcedEarly
    inquiry.removed = pending.removesRoutes
    // What `readLink` finds is part of this inquiry. Only the list of links still has to be published.
    pending.routing = []
    pending.dependents = []
    pending.announcedEarly = []
    pending.removesRoutes = []
    return ask(inquiry, &effects)
  }

  private mutating func ask(_ inquiry: Inquiry, _ effects: inout Effects) -> State {
    answers.forget(answers.lookBeneathTunnels ? .both : inquiry.families)
    lastQuestion &+= 1
    var inquiry = inquiry
    inquiry.question = lastQuestion
    // What is missing at first is always the same. An evaluation only to find that out would cost as much as a system call.
    for family in AddressFamily.allCases where inquiry.families.contains(family) {
      if asksForBothStandIns(family, inquiry) {
        effects.append(.lookUpBothStandIns(lastQuestion, family))
        inquiry.outstanding += 2
        continue
      }
      if destinations.areStandIns {
        effects.append(.lookUp(lastQuestion, RouteRequest(family, .plain, to: evaluator.snapshot.standIn(family))))
        inquiry.outstanding += 1
        continue
      }
      for destination in destinations[family].indices {
        effects.append(.lookUp(lastQuestion, RouteRequest(family, .plain, to: Int8(clamping: destination))))
        inquiry.outstanding += 1
      }
    }
    return .asking(inquiry)
  }

  mutating func accept(
    _ answer: RouteAnswer, to request: RouteRequest, in inquiry: Inquiry, at now: Duration, _ effects: inout Effects
  ) -> State {
    var inquiry = inquiry
    answers.keep(answer, to: request)
    if asksFurther(answer, to: request), !asksForBothStandIns(request.family, inquiry) {
      let last = RouteRequest(request.family, .plain, to: Destinations.lastStandIn(request.family))
      effects.append(.lookUp(inquiry.question, last))
      return .asking(inquiry)
    }
    inquiry.outstanding -= 1
    if evaluator.contradicts(answer) { inquiry.contradicted.formUnion(AddressFamilies(request.family)) }
    guard inquiry.outstanding <= 0 else { return .asking(inquiry) }

    watchRemotes(&effects)
    var trail = EvaluationTrail()
    var evaluation = evaluator.evaluate(answers, to: destinations, &trail)
    guard trail.missing.isEmpty else { return ask(further: trail, inquiry, at: now, &effects) }
    if usesHostRoutes, !trail.usesHostRoutes { stopUsingHostRoutes(&effects) }
    if !inquiry.isConfirmed, isDoubtful(inquiry, &evaluation) {
      inquiry.isConfirmed = true
      inquiry.contradicted = []
      inquiry.outstanding = 0
      effects.append(.settle)
      return ask(inquiry, &effects)
    }
    if inquiry.contradicted.isEmpty {
      hasListedForContradiction = false
    } else if !hasListedForContradiction, !inquiry.contradicted.isSubset(of: evaluation.verdict.families) {
      hasListedForContradiction = true
      return list(after: 0, because: inquiry.stale ?? inquiry.cause, &effects)
    }
    return conclude(&evaluation, inquiry, at: now, &effects)
  }

  /// Returns whether both addresses that may stand for the internet are asked for at once. If a route is gone, the first one
  /// mostly has none any more.
  private func asksForBothStandIns(_ family: AddressFamily, _ inquiry: Inquiry) -> Bool {
    destinations.areStandIns && inquiry.removed.contains(family) && evaluator.snapshot.standIn(family) == 0
  }

  /// Returns whether another address has to stand for the internet. An evaluation only to find that out would cost as much as
  /// a system call.
  private func asksFurther(_ answer: RouteAnswer, to request: RouteRequest) -> Bool {
    guard destinations.areStandIns, case .plain = request.scope, !request.isBeneath, !request.isForLastStandIn else {
      return false
    }
    switch answer {
    case .noRoute, .refused, .own: return true
    case .hop, .hops, .rules: return false
    }
  }

  /// Watches the routes to the other ends of tunnels, before anybody asks for them.
  private mutating func watchRemotes(_ effects: inout Effects) {
    if pending.movesRemotes { effects.append(.watch) }
    pending.movesRemotes = false
  }

  /// Asks what the first answers have made necessary.
  private mutating func ask(
    further trail: EvaluationTrail, _ inquiry: Inquiry, at now: Duration, _ effects: inout Effects
  ) -> State {
    var inquiry = inquiry
    if inquiry.question == 0 {
      lastQuestion &+= 1
      inquiry.question = lastQuestion
    }
    var asked: [RouteRequest] = []
    for request in trail.missing where !asked.contains(request) { asked.append(request) }
    if trail.usesHostRoutes { useHostRoutes(for: asked, at: now, &effects) }
    for request in asked { effects.append(.lookUp(inquiry.question, request)) }
    inquiry.outstanding = asked.count
    return .asking(inquiry)
  }

  // MARK: Routes to single addresses

  /// Watches changes of routes to single addresses before they are listed, so that none is missed.
  private mutating func useHostRoutes(for requests: [RouteRequest], at now: Duration, _ effects: inout Effects) {
    guard requests.contains(where: \.isForHostRoute) else { return }
    if !usesHostRoutes { effects.append(.watch) }
    hostRoutes = (now, hostRoutes?.isTimed ?? false)
  }

  /// Has routes to single addresses listed again: at once, or when the pause since the last listing is over.
  private mutating func refreshHostRoutes(at now: Duration, _ effects: inout Effects) {
    guard let (listed, isTimed) = hostRoutes, !isTimed else { return }
    if now - listed >= Self.hostRoutePause { return answers.forgetHostRoutes() }
    hostRoutes = (listed, true)
    effects.append(.arm(.hostRoutes, at: listed + Self.hostRoutePause))
  }

  private mutating func stopUsingHostRoutes(_ effects: inout Effects) {
    answers.forgetHostRoutes()
    if hostRoutes?.isTimed == true { effects.append(.disarm(.hostRoutes)) }
    hostRoutes = nil
    effects.append(.watch)
  }

  /// Returns whether the answer may be older than what the kernel has announced.
  ///
  /// This is so if the answer changes nothing after an early announcement, or contradicts what is known. The kernel announces
  /// nothing more when it makes the change.
  private mutating func isDoubtful(_ inquiry: Inquiry, _ evaluation: inout PathEvaluator.Evaluation) -> Bool {
    if !inquiry.contradicted.isEmpty { return true }
    guard hasPublished else { return false }
    // Beneath a tunnel, another link may carry the traffic by the other family, and the path stays the same.
    if answers.lookBeneathTunnels { return !inquiry.early.isEmpty }
    let early = inquiry.early.intersection(inquiry.families)
    // First, because the comparison copies both verdicts.
    guard !early.isEmpty else { return false }
    return !early.intersection(evaluation.verdict.familiesEqual(to: concluded)).isEmpty
  }

  // MARK: Publishing

  mutating func conclude(
    _ evaluation: inout PathEvaluator.Evaluation, _ inquiry: Inquiry, at now: Duration, _ effects: inout Effects
  ) -> State {
    if destinations.isEmpty, name != .known { evaluation.verdict = .unknown }
    concluded = evaluation.verdict
    if case .awaited(let isTimed) = name, !hasPublished {
      // The first path waits for the addresses of the host, but not for ever.
      if !isTimed { effects.append(.arm(.resolution, at: now + Self.resolutionPatience)) }
      name = .awaited(isTimed: true)
      pending = SnapshotDelta()
      return .settled(stale: inquiry.stale)
    }
    let isReachable = evaluation.verdict.status.isReachable
    if hasPublished, evaluation.verdict == published {
      stopHolding(&effects)
    } else if published.status.isReachable, !isReachable, configuration.hold > .zero {
      if heldReason == nil { effects.append(.arm(.hold, at: now + configuration.hold.asDelay)) }
      heldReason = reason(for: &evaluation, inquiry.cause)
    } else {
      stopHolding(&effects)
      let reason = reason(for: &evaluation, inquiry.cause)
      published = evaluation.verdict
      publish(reason, hasPublished ? .reachability : .initial, &effects)
    }
    // Changes that were undone within one turn do not count.
    if pending.isVisible,
      !configuration.publishesInterfaceChanges || evaluator.snapshot.interfaces != publishedInterfaces
    {
      publish(.interfaceChanged, .interfaces, &effects)
    }
    let announcesRoutes = pending.announcesRoutes
    pending = SnapshotDelta()
    refusals = 0
    if advertised != nil || concluded.ipv6 != nil || !watchedRouters.dead.isEmpty {
      let route = advertisedRoute(concluded)
      if watchRouter(of: route?.hop, &effects), !inquiry.followsWatch {
        // Nobody has heard what became of the router between the answer and the watch. Once: a kernel without router
        // preferences takes turns between routers that it knows nothing of.
        pending.routing = .ipv6
        pending.announcesRoutes = announcesRoutes
        return inquire(Inquiry(stale: inquiry.stale, followsWatch: true), at: now, &effects)
      }
      followAdvertisedRoute(route, announcesRoutes, &effects)
    }
    return .settled(stale: inquiry.stale)
  }

  mutating func stopHolding(_ effects: inout Effects) {
    if heldReason != nil { effects.append(.disarm(.hold)) }
    heldReason = nil
  }

  /// Publishes what has been put into ``published``.
  mutating func publish(_ reason: ReachabilityReason, _ change: Change, _ effects: inout Effects) {
    if change != .interfaces {
      statistics.transitions += 1
      pending.isVisible = false
    }
    hasPublished = true
    if configuration.publishesInterfaceChanges { publishedInterfaces = evaluator.snapshot.interfaces }
    self.reason = reason
    effects.append(.publish(change))
  }

  /// Writes what was published last to `path`, with other values of the WiFi network and another reason.
  package mutating func write(
    to path: inout NetworkPath, because reason: ReachabilityReason, _ connection: WiFiConnection
  ) {
    path.update { values in
      values.verdict = published
      values.reason = reason
      values.links = evaluator.snapshot.interfaces
      values.connection = connection
    }
  }

  private mutating func reason(
    for evaluation: inout PathEvaluator.Evaluation, _ listingCause: ReachabilityReason?
  ) -> ReachabilityReason {
    let isReachable = evaluation.verdict.status.isReachable
    guard hasPublished else { return isReachable ? .initial : evaluation.failure }
    guard isReachable else {
      return evaluator.lossReason(published: published, evaluation)
    }
    if let listingCause { return listingCause }
    if !published.status.isReachable { return .routeUp }
    if evaluation.verdict.vpn?.interfaceIndex != published.vpn?.interfaceIndex {
      return evaluation.verdict.vpn == nil ? .vpnDown : .vpnUp
    }
    if evaluation.verdict.medium != published.medium { return .mediumChanged }
    if evaluation.verdict.interfaceIndex != published.interfaceIndex { return .interfaceChanged }
    if evaluation.verdict.interfaceName != published.interfaceName { return .interfaceChanged }
    if evaluation.verdict.vpn != published.vpn { return .interfaceChanged }
    if evaluation.verdict.ssid != published.ssid { return .networkChanged }
    if evaluation.verdict.isExpensive != published.isExpensive, evaluation.verdict.ssid != nil {
      return .networkChanged
    }
    return .addressChanged
  }

  // MARK: Advertised routes

  /// Follows the route that a router has advertised. Such routes end without an announcement, by their lifetime or with their
  /// router. The kernel skips an expired one at once but announces that up to half a minute later.
  ///
  /// - Parameter isAnnounced: Whether some route has been announced, perhaps this one with a new lifetime.
  private mutating func followAdvertisedRoute(
    _ route: (hop: RouteHop, destination: Int8)?, _ isAnnounced: Bool, _ effects: inout Effects
  ) {
    if let route {
      if route.hop != advertised?.hop || isAnnounced {
        effects.append(.lookUp(lastQuestion, RouteRequest(.ipv6, .lifetime, to: route.destination)))
      }
    } else {
      stopExpiry(&effects)
    }
    advertised = route.map { ($0.hop, advertised?.isTimed ?? false) }
  }

  /// Has the router that this route leads to watched, if it is not dead, and the dead ones.
  ///
  /// - Returns: Whether the router was not watched before.
  private mutating func watchRouter(of hop: RouteHop?, _ effects: inout Effects) -> Bool {
    let dead = evaluator.snapshot.deadRouters
    var inUse: Neighbour?
    if let hop, let gateway = hop.gateway {
      let router = Neighbour(interfaceIndex: hop.interfaceIndex, address: gateway)
      if !dead.contains(router) { inUse = router }
    }
    let before = watchedRouters
    guard before != (inUse, dead) else { return false }
    watchedRouters = (inUse, dead)
    effects.append(.watchRouters)
    return inUse != nil && inUse != before.inUse
  }

  /// Returns the IPv6 route in use if a router has advertised it, and the destination that was asked about.
  private func advertisedRoute(_ verdict: NetworkPath.Verdict) -> (hop: RouteHop, destination: Int8)? {
    guard let path = verdict.ipv6, let gateway = path.gateway else { return nil }
    for destination in destinations.ipv6.indices {
      let destination = Int8(clamping: destination)
      guard case .hop(let hop) = answers[RouteRequest(.ipv6, .plain, to: destination)],
        hop.origin == RouteHop.advertisementOrigin, hop.gateway == gateway, hop.interfaceIndex == path.interfaceIndex
      else { continue }
      return (hop, destination)
    }
    return nil
  }

  mutating func takeLifetime(of answer: RouteAnswer, at now: Duration, _ effects: inout Effects) {
    let hop: RouteHop? =
      switch answer {
      case .hop(let hop): hop
      case .hops(let hops): hops.first
      case .noRoute, .refused, .own, .rules: nil
      }
    guard advertised != nil, let hop, hop.lifetime > 0 else { return stopExpiry(&effects) }
    advertised?.isTimed = true
    effects.append(.arm(.expiry, at: now + .milliseconds(10) * Int(hop.lifetime) + Self.expirySlack))
  }

  private mutating func stopExpiry(_ effects: inout Effects) {
    if advertised?.isTimed == true { effects.append(.disarm(.expiry)) }
    advertised?.isTimed = false
  }
}
