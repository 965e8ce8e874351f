/// The way to one destination: the kernel's answer about it, and what is known of the links that it names.
extension PathEvaluator {
  // MARK: One destination

  /// Evaluates the way to one destination.
  ///
  /// - Parameter other: The question for an address that also stands for the destination, over links that the kernel did not
  ///   choose. Nil for none.
  func evaluate(
    _ query: RouteQuery, orElse other: RouteQuery? = nil, _ answers: [RouteQuery: RouteAnswer],
    _ trail: inout EvaluationTrail
  ) -> RouteOutcome {
    guard let answer = trail.answer(to: query, answers) else { return .open }
    trail.record(.answer(query, answer))
    guard case .hop(let hop) = answer else { return evaluate(answer, query.family) }
    if !includesLink(hop.interfaceIndex) {
      trail.record(.excluded(link: hop.interfaceIndex))
      return evaluateOthers(to: [query] + (other.map { [$0] } ?? []), answers, &trail)
    }
    var outcome = evaluate(hop, query.family)
    if case .failed(.noAddress) = outcome { outcome = evaluateSource(of: hop, outcome, query, answers, &trail) }
    record(hop, outcome, &trail)
    switch outcome {
    case .open: return .open
    case .reachable: return isTunnel(hop) ? descend(outcome, hop, answers, &trail) : outcome
    case .failed: return evaluateOtherHops(than: hop, outcome, query, answers, &trail)
    }
  }

  /// Evaluates a source that is on no link. It may belong to a `local` route of a whole prefix (AnyIP).
  private func evaluateSource(
    of hop: RouteHop, _ outcome: RouteOutcome, _ query: RouteQuery, _ answers: [RouteQuery: RouteAnswer],
    _ trail: inout EvaluationTrail
  ) -> RouteOutcome {
    guard let source = hop.source, !snapshot.knows(source),
      source.isUsableSource(allowingLinkLocalIPv4: allowsLinkLocalIPv4)
    else { return outcome }
    guard let answer = trail.answer(to: self.query(source), answers) else { return .open }
    guard case .own = answer else { return outcome }
    return .reachable(
      .init(address: source, gateway: hop.gateway, interfaceIndex: hop.interfaceIndex), over: .link(hop.interfaceIndex))
  }

  /// Evaluates the other hops of the route if the link of the chosen hop is dead. Another hop only counts if it works;
  /// otherwise the fault of the chosen one is reported.
  private func evaluateOtherHops(
    than hop: RouteHop, _ outcome: RouteOutcome, _ query: RouteQuery, _ answers: [RouteQuery: RouteAnswer],
    _ trail: inout EvaluationTrail
  ) -> RouteOutcome {
    guard snapshot.interface(hop.interfaceIndex) != nil else { return outcome }
    let route = query.asking(.route)
    guard let hops = trail.answer(to: route, answers) else { return .open }
    guard case .hops(let others) = hops,
      let next = others.first(where: { includesLink($0.interfaceIndex) && evaluate($0, query.family).isReachable })
    else { return outcome }
    trail.record(.answer(route, .hop(next)))
    record(next, evaluate(next, query.family), &trail)
    return descend(evaluate(next, query.family), next, answers, &trail)
  }

  /// Evaluates the best way over links that count, if the link that the kernel has chosen does not count.
  private func evaluateOthers(
    to queries: [RouteQuery], _ answers: [RouteQuery: RouteAnswer], _ trail: inout EvaluationTrail
  ) -> RouteOutcome {
    let links = snapshot.interfaces.filter { includes($0) && mayHaveRoutes($0) }
    guard let (hops, query) = hops(over: links, to: queries, answers, &trail) else { return .open }
    if hops.isEmpty { trail.record(.noneInstead) }
    for hop in hops {
      let outcome = evaluate(hop, query.family)
      trail.record(.answer(query.over(hop.interfaceIndex), .hop(hop)))
      record(hop, outcome, &trail)
      if outcome.isReachable { return descend(outcome, hop, answers, &trail) }
    }
    return hops.first.map { evaluate($0, query.family) } ?? .failed(.noRoute)
  }

  /// Returns whether routes over the link can exist. Links without carrier count: after a cable was pulled the route is still
  /// there, and tells what is wrong.
  func mayHaveRoutes(_ interface: Interface) -> Bool { interface.isAdministrativelyUp && !interface.isLoopback }

  /// Returns the hops over single links, the best one first, by the first question to which any of them is an answer. Nil if
  /// some have not been asked for. More than one question means addresses that stand for the internet.
  func hops(
    over links: [Interface], to queries: [RouteQuery], _ answers: [RouteQuery: RouteAnswer],
    _ trail: inout EvaluationTrail
  ) -> (hops: [RouteHop], query: RouteQuery)? {
    for query in queries {
      guard var hops = hops(over: links, to: query, answers, &trail) else { return nil }
      if queries.count > 1 { hops.removeAll(where: isOnLink) }
      if !hops.isEmpty || query == queries.last { return (hops, query) }
    }
    return nil
  }

  private func hops(
    over links: [Interface], to query: RouteQuery, _ answers: [RouteQuery: RouteAnswer], _ trail: inout EvaluationTrail
  ) -> [RouteHop]? {
    var found: [RouteHop] = []
    var isComplete = true
    for link in links {
      switch trail.answer(to: query.over(link.index), answers) {
      case .hop(let hop): found.append(hop)
      // The route also leads over other links.
      case .hops(let hops): found += hops.filter { $0.interfaceIndex == link.index }
      case .noRoute, .refused, .own, .rules: break
      case nil: isComplete = false
      }
    }
    guard isComplete else { return nil }
    return found.sorted { ($0.metric, $0.interfaceIndex) < ($1.metric, $1.interfaceIndex) }
  }

  // MARK: One way

  /// Records the steps in which a hop was judged.
  func record(_ hop: RouteHop, _ outcome: RouteOutcome, _ trail: inout EvaluationTrail) {
    guard trail.steps != nil else { return }
    let fault = fault(ofLink: hop.interfaceIndex)
    trail.record(.link(hop.interfaceIndex, fault: fault))
    if fault != nil { return }
    if case .reachable(let path, _) = outcome {
      trail.record(.source(path.address, isUsable: true, link: hop.interfaceIndex))
    } else {
      trail.record(.source(hop.source, isUsable: false, link: hop.interfaceIndex))
    }
  }

  /// Evaluates an answer: returns the way over the first hop that works. The hops are sorted by preference.
  func evaluate(_ answer: RouteAnswer, _ family: AddressFamily) -> RouteOutcome {
    switch answer {
    case .noRoute, .rules: return .failed(.noRoute)
    case .refused, .own: return .failed(.routeUnreachable)
    case .hop(let hop): return evaluate(hop, family)
    case .hops(let hops):
      for hop in hops {
        let outcome = evaluate(hop, family)
        if outcome.isReachable { return outcome }
      }
      return hops.first.map { evaluate($0, family) } ?? .failed(.noRoute)
    }
  }

  /// Evaluates a hop, whatever the hop's link stands on.
  func evaluate(_ hop: RouteHop, _ family: AddressFamily) -> RouteOutcome {
    if let fault = fault(ofLink: hop.interfaceIndex) { return .failed(fault) }
    guard let source = usableSource(of: hop, family) else { return .failed(.noAddress) }
    return .reachable(
      .init(address: source, gateway: hop.gateway, interfaceIndex: hop.interfaceIndex), over: .link(hop.interfaceIndex))
  }

  /// Returns the fault that keeps a link from carrying packets. Nil if there is none.
  package func fault(ofLink index: Int32) -> ReachabilityReason? {
    guard let link = snapshot.interface(index), link.isAdministrativelyUp else { return .linkDown }
    if link.hasCarrier, link.operationalState == .dormant { return .dormant }
    guard link.isRunning else { return .noCarrier }
    if link.needsPorts, !snapshot.hasRunningPort(index) { return .noCarrier }
    if link.role == .sink { return .routeUnreachable }
    return snapshot.hasIgnoredLinks && snapshot.standsOnIgnored(index) ? .noCarrier : nil
  }

  private func usableSource(of hop: RouteHop, _ family: AddressFamily) -> IPAddress? {
    if let source = hop.source {
      // The source may be on another link (unnumbered), but it has to exist. The kernel returns ::1 or a link-local address
      // while the only global one is tentative, and can name an address that is being removed.
      return isUsable(source, on: hop.interfaceIndex) ? source : nil
    }
    // The kernel names none if the question was for the route itself.
    let usable = snapshot.interface(hop.interfaceIndex)?.addresses.filter { $0.address.family == family && isUsable($0) }
    return (usable?.first { !$0.isDeprecated } ?? usable?.first)?.address
  }

  /// Returns whether some link has the address and the address is usable.
  private func isUsable(_ address: IPAddress, on index: Int32) -> Bool {
    snapshot.hasAddress(on: index) { $0.address == address && isUsable($0) }
  }

  package func includes(_ interface: Interface) -> Bool {
    !interface.isIgnored && (includesInterface?(interface.name) ?? true)
  }

  private func includesLink(_ index: Int32) -> Bool {
    snapshot.interface(index).map(includes) ?? true
  }

  /// Returns whether the kernel's answer contradicts what is known: it was given before a change that the kernel has already
  /// announced.
  func contradicts(_ answer: RouteAnswer) -> Bool {
    guard case .hop(let hop) = answer else { return false }
    guard let link = snapshot.interface(hop.interfaceIndex), link.isAdministrativelyUp else { return true }
    guard let source = hop.source else { return false }
    return !snapshot.knows(source, on: hop.interfaceIndex)
  }

  // MARK: Why

  /// Returns why a path is not reachable any more: first what took its link away, then its tunnel.
  func lossReason(published: NetworkPath.Verdict, _ evaluation: Evaluation) -> ReachabilityReason {
    if evaluation.failure == .unresolved { return .unresolved }
    guard let index = published.interfaceIndex else { return evaluation.failure }
    let outer = published.vpn?.interfaceIndex ?? index
    if let fault = fault(ofLink: index) ?? fault(ofLink: outer) { return fault }
    guard let carrier = snapshot.interface(index), let leaving = snapshot.interface(outer),
      hasAddress(published, over: leaving),
      outer == index || carrier.addresses.contains(where: isUsable)
    else { return .noAddress }
    return evaluation.failure
  }

  private func isUsable(_ address: InterfaceAddress) -> Bool {
    address.isUsable(allowingLinkLocalIPv4: allowsLinkLocalIPv4)
  }

  private func hasAddress(_ published: NetworkPath.Verdict, over link: Interface) -> Bool {
    // An unnumbered link borrows the address of another one.
    if let borrowed = published.ipv4?.address ?? published.ipv6?.address, isUsable(borrowed, on: link.index) {
      return true
    }
    return link.addresses.contains {
      isUsable($0) && ($0.address.family == .ipv4 ? published.ipv4 != nil : published.ipv6 != nil)
    }
  }
}
