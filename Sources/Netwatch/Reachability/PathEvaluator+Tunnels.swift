/// What lies beneath a tunnel, found without privilege.
///
/// The kernel does not say over which link a tunnel's own packets leave. In this order: the link that it names, the mark
/// that the tunnel's rules make an exception for, the other end that it names, the best default route over a link that is no
/// tunnel, and where the tunnel has taken the place of that route, the only link that could carry it, or the one with a route
/// to the tunnel's server. Evidence that leads into a sink, or over a link that is to be treated as if it were not there, is
/// no evidence.
extension PathEvaluator {
  /// Tunnels in tunnels.
  private static let depthLimit = 8

  func isTunnel(_ hop: RouteHop) -> Bool {
    guard let position = snapshot.position(of: hop.interfaceIndex) else { return false }
    return snapshot.interfaces[position].role.tunnelKind != nil
  }

  /// The same way, over the link beneath if it leads into a tunnel.
  @inline(never) func descend(
    _ outcome: RouteOutcome, _ hop: RouteHop, _ answers: RouteAnswers, _ trail: inout EvaluationTrail
  )
    -> RouteOutcome
  {
    guard case .reachable(let path, _) = outcome, isTunnel(hop),
      let position = snapshot.position(of: hop.interfaceIndex)
    else { return outcome }
    let tunnel = snapshot.interfaces[position]
    // A program of the container's owner reads it, and sends what it reads from outside of the container.
    if namespaces.contains(.users), tunnel.kind == "tun", !snapshot.hasHadCarrier {
      trail.record(.tunnel(tunnel.index, .tun, .container))
      return outcome
    }
    var search = UnderlaySearch(evaluator: self, answers: answers, trail: trail)
    let isTranslated = tunnel.kind == "tun" && path.address.isTranslated
    let found = isTranslated ? search.translation(by: tunnel) : search.underlay(of: tunnel, table: hop.table)
    trail = search.trail
    switch found {
    case .reachable(let beneath, let carrier) where isTranslated:
      let path = NetworkPath.FamilyPath(address: path.address, gateway: nil, interfaceIndex: beneath.interfaceIndex)
      return .reachable(path, over: carrier)
    case .reachable(_, let carrier): return .reachable(path, over: carrier)
    case .failed, .open: return found
    }
  }

  private struct UnderlaySearch {
    let evaluator: PathEvaluator
    let answers: RouteAnswers
    var trail: EvaluationTrail
    /// Those that have been looked beneath. None is twice: what leads out from it has been tried.
    var tunnels: [Int32] = []

    private var snapshot: NetworkSnapshot { evaluator.snapshot }

    /// - Parameter table: the routing table whose route led into the tunnel.
    mutating func underlay(of tunnel: Interface, table: UInt32) -> RouteOutcome {
      guard tunnels.count < depthLimit, !tunnels.contains(tunnel.index) else {
        record(tunnel, .loop)
        return .failed(.vpnWithoutUnderlay)
      }
      tunnels.append(tunnel.index)
      if tunnel.isCarriedElsewhere {
        record(tunnel, .elsewhere)
        return unknown(beneath: tunnel, among: [])
      }
      if let lower = tunnel.standsOn.flatMap(snapshot.interface), tunnel.remote == nil, lower.role != .sink {
        record(tunnel, .link(lower.index))
        return lower.isIgnored ? .failed(.vpnWithoutUnderlay) : over(lower)
      }
      if tunnel.standsOn == nil {
        guard let marks = marks(for: table) else { return .open }
        if !marks.isEmpty {
          record(tunnel, .marks(marks))
          if let outcome = best(of: marks.flatMap { mark in AddressFamily.allCases.map { ($0, .marked(mark)) } }) {
            return outcome
          }
        }
      }
      if let remote = tunnel.remote {
        record(tunnel, .remote(remote))
        if let outcome = best(of: [(remote.family, .remote(tunnel: tunnel.index))]) { return outcome }
      }
      record(tunnel, .bestLink)
      if let outcome = overBestRoute() { return outcome }
      // Of a moved WireGuard link the kernel does not say that it was made elsewhere.
      if tunnel.kind == "wireguard", evaluator.namespaces.contains(.network), !snapshot.hasHadCarrier {
        record(tunnel, .container)
        return unknown(beneath: tunnel, among: [])
      }
      return overCandidates(beneath: tunnel)
    }

    /// The way of IPv6, which carries the packets of 464XLAT.
    mutating func translation(by tunnel: Interface) -> RouteOutcome {
      tunnels.append(tunnel.index)
      record(tunnel, .translation)
      return best(of: [(.ipv6, .plain)], keepsReasons: true) ?? .failed(.routeUnreachable)
    }

    private mutating func record(_ tunnel: Interface, _ evidence: EvaluationTrail.Evidence) {
      trail.record(.tunnel(tunnel.index, tunnel.role.tunnelKind ?? .other, evidence))
    }

    // MARK: One link

    /// Over a link, without asking where it leads.
    private mutating func over(_ link: Interface) -> RouteOutcome {
      let fault = evaluator.fault(ofLink: link.index)
      trail.record(.link(link.index, fault: fault))
      if let fault { return .failed(fault) }
      let source = link.addresses.first {
        $0.isUsable(allowingLinkLocalIPv4: evaluator.allowsLinkLocalIPv4)
      }
      trail.record(.source(source?.address, isUsable: source != nil, link: link.index))
      guard let source else { return .failed(.noAddress) }
      if link.role.tunnelKind != nil { return underlay(of: link, table: RoutingRule.mainTable) }
      return .reachable(
        .init(address: source.address, gateway: nil, interfaceIndex: link.index), over: .link(link.index))
    }

    private mutating func over(_ answer: RouteAnswer, _ family: AddressFamily) -> RouteOutcome {
      let outcome = evaluator.evaluate(answer, family)
      if case .hop(let hop) = answer { evaluator.record(hop, outcome, &trail) }
      guard case .reachable(let path, .link(let index)) = outcome, let link = snapshot.interface(index),
        link.role.tunnelKind != nil
      else { return outcome }
      let beneath = underlay(of: link, table: answer.table(over: index))
      if case .reachable(_, let carrier) = beneath { return .reachable(path, over: carrier) }
      return beneath
    }

    // MARK: Evidence

    /// The first of the answers that carries, else why the first of them that leads anywhere does not; nil if none of them is
    /// evidence. Of a single link without a route the kernel says "unreachable", so that neither is a reason of its own.
    private mutating func best(
      of questions: [(family: AddressFamily, scope: RouteRequest.Scope)], keepsReasons: Bool = false
    ) -> RouteOutcome? {
      var replies: [(RouteRequest, RouteAnswer)] = []
      for (family, scope) in questions {
        if let reply = reply(family, scope) { replies.append(reply) }
      }
      guard replies.count == questions.count else { return .open }
      var failure: ReachabilityReason?
      var isMisled = false
      for (request, answer) in replies {
        trail.record(.answer(request, answer))
        guard !misleads(answer) else {
          isMisled = true
          continue
        }
        switch over(answer, request.family) {
        case .open: return .open
        case .reachable(let path, let carrier): return .reachable(path, over: carrier)
        case .failed(let reason):
          let isReason = keepsReasons || reason != .noRoute && reason != .routeUnreachable
          if isReason, failure == nil { failure = reason }
        }
      }
      if let failure { return .failed(failure) }
      return isMisled ? nil : .failed(.vpnWithoutUnderlay)
    }

    /// The kernel's word on the way to the internet, or to the other end of a tunnel; nil if it has to be asked.
    private mutating func reply(_ family: AddressFamily, _ scope: RouteRequest.Scope) -> (RouteRequest, RouteAnswer)? {
      var positions = [Int8(0)]
      if case .remote = scope {} else { positions = evaluator.standIns(family) }
      var reply: (RouteRequest, RouteAnswer)?
      for position in positions {
        let request = RouteRequest(family, scope, to: RouteRequest.internet(position))
        guard let answer = answers[request] else {
          trail.needs(request)
          return nil
        }
        if case .hop = answer { return (request, answer) }
        reply = reply ?? (request, answer)
      }
      return reply
    }

    /// The answer leads where the tunnel's packets do not go.
    private func misleads(_ answer: RouteAnswer) -> Bool {
      guard case .hop(let hop) = answer, let link = snapshot.interface(hop.interfaceIndex) else { return false }
      return link.role == .sink || link.isIgnored
    }

    /// The marks whose packets go by the tunnel's table; nil if the rules have to be asked for.
    private mutating func marks(for table: UInt32) -> [UInt32]? {
      var marks: [UInt32] = []
      var isComplete = true
      for family in AddressFamily.allCases {
        let request = RouteRequest(family, .rules, to: RouteRequest.internet)
        guard case .rules(let rules) = answers[request] else {
          // A kernel without rules, or without IPv6, refuses.
          if answers[request] == nil {
            trail.needs(request)
            isComplete = false
          }
          continue
        }
        for mark in rules.marks(passing: table) where !marks.contains(mark) { marks.append(mark) }
      }
      return isComplete ? marks : nil
    }

    // MARK: The default route beside the tunnel

    /// Over the default route that there is without tunnels; nil if there is none. IPv4's comes before IPv6's, as the
    /// tunnel's own packets may be of either. If the best one runs over a link that is dead, so is the tunnel: the kernel
    /// goes on to no other.
    private mutating func overBestRoute() -> RouteOutcome? {
      let links = snapshot.interfaces.filter {
        ($0.role.tunnelKind == nil || $0.isCarriedElsewhere) && $0.role != .sink && !$0.isIgnored
          && evaluator.mayHaveRoutes($0) && !snapshot.isPort($0)
      }
      var isOpen = false
      var failure: RouteOutcome?
      for family in AddressFamily.allCases {
        let destinations = evaluator.standIns(family).map(RouteRequest.internet)
        guard let (hops, destination) = evaluator.hops(over: links, family, to: destinations, answers, &trail) else {
          isOpen = true
          continue
        }
        for hop in hops {
          let outcome = evaluator.evaluate(hop, family)
          trail.record(.answer(RouteRequest(family, .link(hop.interfaceIndex), to: destination), .hop(hop)))
          evaluator.record(hop, outcome, &trail)
          if outcome.isReachable, !isOpen { return beneath(outcome, hop) }
          failure = failure ?? outcome
          if evaluator.fault(ofLink: hop.interfaceIndex) != nil { break }
        }
      }
      return isOpen ? .open : failure
    }

    private mutating func beneath(_ outcome: RouteOutcome, _ hop: RouteHop) -> RouteOutcome {
      guard let link = snapshot.interface(hop.interfaceIndex), link.role.tunnelKind != nil else { return outcome }
      return underlay(of: link, table: hop.table)
    }

    // MARK: No default route beside the tunnel

    /// The tunnel has taken the place of the default route. A link that could carry it and has a route to a single address,
    /// as VPN clients write one to their server, does carry it, alive or dead; else the only one that is alive.
    private mutating func overCandidates(beneath tunnel: Interface) -> RouteOutcome {
      let candidates = snapshot.possibleCarriers(allowingLinkLocalIPv4: evaluator.allowsLinkLocalIPv4)
      guard candidates.contains(where: { evaluator.fault(ofLink: $0) == nil }) else {
        trail.record(.noneInstead)
        return .failed(.vpnWithoutUnderlay)
      }
      guard let leading = linksWithHostRoute(among: candidates) else { return .open }
      trail.record(.candidates(candidates, withHostRoute: leading))
      let alive = (leading.isEmpty ? candidates : leading).filter { evaluator.fault(ofLink: $0) == nil }
      if alive.count > 1 { return unknown(beneath: tunnel, among: alive) }
      guard let chosen = (alive.first ?? leading.first).flatMap(snapshot.interface) else {
        return .failed(.vpnWithoutUnderlay)
      }
      return over(chosen)
    }

    /// Nil if the kernel has to be asked. A single link needs no evidence.
    private mutating func linksWithHostRoute(among links: [Int32]) -> [Int32]? {
      guard links.count > 1 else { return [] }
      trail.useHostRoutes()
      var found: [Int32] = []
      var isComplete = true
      for link in links {
        for family in AddressFamily.allCases {
          let request = RouteRequest(family, .hostRoute(link), to: RouteRequest.internet)
          switch answers[request] {
          case .hop: if found.last != link { found.append(link) }
          case nil:
            trail.needs(request)
            isComplete = false
          default: break
          }
        }
      }
      return isComplete ? found : nil
    }

    /// Something carries the tunnel, and nothing tells what.
    private func unknown(beneath tunnel: Interface, among links: [Int32]) -> RouteOutcome {
      let links = links.compactMap(snapshot.interface)
      let source = tunnel.addresses.first?.address ?? .v4(0)
      return .reachable(
        .init(address: source, gateway: nil, interfaceIndex: tunnel.index),
        over: .unknown(
          isCellular: !links.isEmpty && links.allSatisfy { $0.medium == .wwan },
          isExpensive: links.contains(where: \.isExpensive)))
    }
  }
}

extension RouteAnswer {
  fileprivate func table(over index: Int32) -> UInt32 {
    switch self {
    case .hop(let hop): hop.table
    case .hops(let hops): hops.first { $0.interfaceIndex == index }?.table ?? RoutingRule.mainTable
    case .noRoute, .refused, .own, .rules: RoutingRule.mainTable
    }
  }
}

extension [RoutingRule] {
  /// The marks that lead past a table. wg-quick writes `not fwmark 51820 lookup 51820`; others put
  /// `fwmark … lookup main` before the rule for their table. Rules that ask for more than a mark are for other traffic.
  package func marks(passing table: UInt32) -> [UInt32] {
    let general = filter { !$0.hasOtherSelectors && $0.suppressedPrefixLength == nil }
    let exceptions = general.filter { $0.isInverted && $0.mark != 0 && $0.table == table }
    if !exceptions.isEmpty { return exceptions.map(\.mark) }
    guard let own = general.firstIndex(where: { $0.table == table }) else { return [] }
    return general[..<own].filter { !$0.isInverted && $0.mark != 0 && $0.table == RoutingRule.mainTable }.map(\.mark)
  }
}
