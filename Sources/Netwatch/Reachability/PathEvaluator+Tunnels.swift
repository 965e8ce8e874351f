/// What lies beneath a tunnel, found without privilege (S5).
///
/// The kernel does not say over which link a tunnel's own packets leave. In this order: the link that it names, the mark
/// that the tunnel's rules make an exception for, the other end that it names, and if nothing is known, the best link that
/// is no tunnel.
extension PathEvaluator {
  /// Tunnels in tunnels.
  private static let depthLimit = 8

  func isTunnel(_ hop: RouteHop) -> Bool {
    guard let position = snapshot.position(of: hop.interfaceIndex) else { return false }
    return snapshot.interfaces[position].role.tunnelKind != nil
  }

  /// The same way, over the link beneath if it leads into a tunnel. Where there never was any other link, as in many a
  /// container, what carries tunnels is in another namespace.
  @inline(never) func descend(_ way: Way, _ hop: RouteHop, _ answers: RouteAnswers, _ trail: inout EvaluationTrail)
    -> Way
  {
    guard case .reachable(let path, _) = way, isTunnel(hop), snapshot.hasHadUplink,
      let position = snapshot.position(of: hop.interfaceIndex)
    else { return way }
    var search = UnderlaySearch(evaluator: self, answers: answers, trail: trail)
    let found = search.underlay(of: snapshot.interfaces[position], table: hop.table)
    trail = search.trail
    switch found {
    case .reachable(_, let link): return .reachable(path, link: link)
    case .failed, .open: return found
    }
  }

  private struct UnderlaySearch {
    let evaluator: PathEvaluator
    let answers: RouteAnswers
    var trail: EvaluationTrail
    /// Those that have been looked beneath. None is twice: what leads out from it has been tried.
    var tunnels: [Int32] = []

    /// - Parameter table: the routing table whose route led into the tunnel.
    mutating func underlay(of tunnel: Interface, table: UInt32) -> Way {
      guard tunnels.count < depthLimit, !tunnels.contains(tunnel.index) else {
        note(tunnel, .loop)
        return .failed(.vpnWithoutUnderlay)
      }
      tunnels.append(tunnel.index)
      if let lower = tunnel.lowerIndex.flatMap(evaluator.snapshot.interface), tunnel.remote == nil {
        note(tunnel, .link(lower.index))
        return over(lower)
      }
      if tunnel.lowerIndex == nil {
        guard let marks = marks(for: table) else { return .open }
        if !marks.isEmpty {
          note(tunnel, .marks(marks))
          let requests = marks.flatMap { mark in
            AddressFamily.allCases.map { RouteRequest($0, .marked(mark), to: RouteRequest.internet) }
          }
          return best(of: requests)
        }
      }
      if let remote = tunnel.remote {
        note(tunnel, .remote(remote))
        return best(
          of: [RouteRequest(remote.family, .remote(tunnel: tunnel.index), to: RouteRequest.internet)])
      }
      note(tunnel, .bestLink)
      return overAnyLink()
    }

    private mutating func note(_ tunnel: Interface, _ carrier: EvaluationTrail.Carrier) {
      trail.note(.tunnel(tunnel.index, tunnel.role.tunnelKind ?? .other, carrier))
    }

    /// Over a link, without asking where it leads.
    private mutating func over(_ link: Interface) -> Way {
      let fault = evaluator.fault(ofLink: link.index)
      trail.note(.link(link.index, fault: fault))
      if let fault { return .failed(fault) }
      let source = link.addresses.first {
        $0.isUsable(allowingLinkLocalIPv4: evaluator.allowsLinkLocalIPv4)
      }
      trail.note(.source(source?.address, isUsable: source != nil, link: link.index))
      guard let source else { return .failed(.noAddress) }
      if link.role.tunnelKind != nil { return underlay(of: link, table: RoutingRule.mainTable) }
      return .reachable(.init(address: source.address, gateway: nil, interfaceIndex: link.index), link: link.index)
    }

    /// Over the best link that is no tunnel: IPv4's route before IPv6's, as the tunnel's own packets may be of either.
    private mutating func overAnyLink() -> Way {
      let links = evaluator.snapshot.interfaces.filter {
        $0.role.tunnelKind == nil && evaluator.mayHaveRoutes($0) && !evaluator.snapshot.isPort($0)
      }
      var isOpen = false
      var failure: Way?
      for family in AddressFamily.allCases {
        let requests = links.map { RouteRequest(family, .link($0.index), to: RouteRequest.internet) }
        guard let hops = evaluator.hops(to: requests, answers, &trail) else {
          isOpen = true
          continue
        }
        for hop in hops {
          let way = evaluator.judge(hop, family)
          trail.note(
            .answer(RouteRequest(family, .link(hop.interfaceIndex), to: RouteRequest.internet), .hop(hop)))
          evaluator.note(hop, way, &trail)
          if way.isReachable, !isOpen { return way }
          failure = failure ?? way
        }
      }
      if isOpen { return .open }
      if failure == nil { trail.note(.noneInstead) }
      return failure ?? .failed(.vpnWithoutUnderlay)
    }

    /// The first of the answers that carries, else why the first of them that leads anywhere does not. Of a single link
    /// without a route the kernel says "unreachable", so that neither is a reason of its own.
    private mutating func best(of requests: [RouteRequest]) -> Way {
      let unasked = requests.filter { answers[$0] == nil }
      for request in unasked { trail.needs(request) }
      guard unasked.isEmpty else { return .open }
      var failure: ReachabilityReason?
      for request in requests {
        guard let answer = answers[request] else { continue }
        trail.note(.answer(request, answer))
        switch over(answer, request.family) {
        case .open: return .open
        case .reachable(let path, let link): return .reachable(path, link: link)
        case .failed(let reason):
          if reason != .noRoute, reason != .routeUnreachable, failure == nil { failure = reason }
        }
      }
      return .failed(failure ?? .vpnWithoutUnderlay)
    }

    private mutating func over(_ answer: RouteAnswer, _ family: AddressFamily) -> Way {
      let way = evaluator.judge(answer, family)
      if case .hop(let hop) = answer { evaluator.note(hop, way, &trail) }
      guard case .reachable(_, let index) = way, let link = evaluator.snapshot.interface(index),
        link.role.tunnelKind != nil
      else { return way }
      return underlay(of: link, table: answer.table(over: index))
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
