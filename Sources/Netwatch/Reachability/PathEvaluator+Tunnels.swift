/// The search for the link beneath a tunnel, without privilege.
///
/// The kernel does not report over which link a tunnel's own packets leave. These are tried in order: the link that the
/// kernel names, the mark that the tunnel's rules exempt, the other end that the tunnel names, a route to the tunnel's server,
/// and the best default route over a link that is no tunnel. If the tunnel has replaced that route: the only link that could
/// carry it. An answer that leads into a sink, or over a link that is to be treated as absent, does not count.
extension PathEvaluator {
  /// The largest number of tunnels in tunnels that are followed.
  private static let depthLimit = 8

  func isTunnel(_ index: Int32) -> Bool { snapshot.tunnel(beneath: index) != nil }

  /// Returns the outcome of a route. If the route leads into a tunnel, what carries the tunnel decides too.
  func descend(
    _ outcome: RouteOutcome, _ hop: RouteHop, _ answers: [RouteQuery: RouteAnswer], _ trace: inout EvaluationTrace
  ) -> RouteOutcome {
    guard case .reachable(let path, _) = outcome, let tunnel = snapshot.tunnel(beneath: hop.interfaceIndex) else {
      return outcome
    }
    // A program of the container's owner reads the tunnel, and sends what it reads from outside the container.
    if namespaces.contains(.users), tunnel.kind == "tun", !snapshot.hasHadCarrier {
      trace.record(.tunnel(tunnel.index, .tun, .container))
      return outcome
    }
    var search = UnderlaySearch(evaluator: self, answers: answers, trace: trace)
    let isTranslated = tunnel.kind == "tun" && path.address.isTranslated
    let found = isTranslated ? search.translation(by: tunnel) : search.underlay(of: tunnel, table: hop.table)
    trace = search.trace
    switch found {
    case .reachable(let beneath, let carrier) where isTranslated:
      let path = NetworkPath.FamilyPath(address: path.address, gateway: nil, interfaceIndex: beneath.interfaceIndex)
      return .reachable(path, over: carrier)
    case .reachable(_, let carrier): return .reachable(path, over: carrier)
    case .failed, .open: return found
    }
  }

  /// The routes to single addresses by which the carrier of a tunnel was found: those that a VPN client has written to its servers.
  package struct ServerRoutes: Hashable, Sendable {
    struct Route: Hashable, Sendable {
      let destination: InternetAddress
      let link: Int32
    }

    var routes: [Route]
    /// Whether the routes' links have lost their carrier or their addresses, and with these the routes, so that the packets to the
    /// servers lead into the tunnel itself. The client may notice that late or never.
    var areLost = false
  }

  private struct UnderlaySearch {
    let evaluator: PathEvaluator
    let answers: [RouteQuery: RouteAnswer]
    var trace: EvaluationTrace
    /// The tunnels whose underlay has been searched. None is searched twice, because what leads out from it has been tried.
    var tunnels: [Int32] = []

    private var snapshot: NetworkSnapshot { evaluator.snapshot }

    /// Finds what carries a tunnel.
    ///
    /// - Parameter table: The routing table whose route led into the tunnel.
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
      if let lower = tunnel.lowerDevice.flatMap(snapshot.interface), tunnel.remote == nil, lower.role != .sink {
        record(tunnel, .link(lower.index))
        return lower.isIgnored ? .failed(.vpnWithoutUnderlay) : over(lower)
      }
      if tunnel.lowerDevice == nil {
        guard let marks = marks(for: table) else { return .open }
        if !marks.isEmpty {
          record(tunnel, .marks(marks))
          let questions = marks.flatMap { mark in AddressFamily.allCases.map { internet($0, mark: mark) } }
          if let outcome = best(of: questions) { return outcome }
        }
      }
      if let remote = tunnel.remote {
        record(tunnel, .remote(remote))
        if let outcome = best(of: [[RouteQuery(remote, link: tunnel.lowerDevice ?? 0)]]) { return outcome }
      }
      if let outcome = overHostRoutes(beneath: tunnel) { return outcome }
      record(tunnel, .bestLink)
      if let outcome = overBestRoute() { return outcome }
      // For a WireGuard link that was moved, the kernel does not report that it was created elsewhere.
      if tunnel.kind == "wireguard", evaluator.namespaces.contains(.network), !snapshot.hasHadCarrier {
        record(tunnel, .container)
        return unknown(beneath: tunnel, among: [])
      }
      return overCandidates(beneath: tunnel)
    }

    /// Evaluates the way of IPv6, which carries the packets of 464XLAT.
    mutating func translation(by tunnel: Interface) -> RouteOutcome {
      tunnels.append(tunnel.index)
      record(tunnel, .translation)
      return best(of: [internet(.ipv6)], keepsReasons: true) ?? .failed(.routeUnreachable)
    }

    /// Returns the questions for the way to the internet, in order. The packets of a tunnel are sent by the kernel or by a
    /// program of root, so rules for other users do not apply to them.
    private func internet(_ family: AddressFamily, mark: UInt32 = 0) -> [RouteQuery] {
      evaluator.standIns(family).map { RouteQuery($0, mark: mark) }
    }

    private mutating func record(_ tunnel: Interface, _ evidence: EvaluationTrace.Evidence) {
      trace.record(.tunnel(tunnel.index, tunnel.role.tunnelKind ?? .other, evidence))
    }

    // MARK: One link

    /// Evaluates the way over a link, without asking where it leads.
    private mutating func over(_ link: Interface) -> RouteOutcome {
      let fault = evaluator.fault(ofLink: link.index)
      trace.record(.link(link.index, fault: fault))
      if let fault { return .failed(fault) }
      let source = link.addresses.first {
        $0.isUsable(allowingLinkLocalIPv4: evaluator.allowsLinkLocalIPv4)
      }
      trace.record(.source(source?.address, isUsable: source != nil, link: link.index))
      guard let source else { return .failed(.noAddress) }
      if let tunnel = snapshot.tunnel(beneath: link.index) { return underlay(of: tunnel, table: RoutingRule.mainTable) }
      return .reachable(
        .init(address: source.address, gateway: nil, interfaceIndex: link.index), over: .link(link.index))
    }

    private mutating func over(_ answer: RouteAnswer, _ family: AddressFamily) -> RouteOutcome {
      let outcome = evaluator.evaluate(answer, family)
      if case .hop(let hop) = answer { evaluator.record(hop, outcome, &trace) }
      guard case .reachable(let path, .link(let index)) = outcome, let tunnel = snapshot.tunnel(beneath: index) else {
        return outcome
      }
      let beneath = underlay(of: tunnel, table: answer.table(over: index))
      if case .reachable(_, let carrier) = beneath { return .reachable(path, over: carrier) }
      return beneath
    }

    // MARK: Evidence

    /// Returns the first of the answers that works, else why the first one that leads anywhere does not; nil if none of them
    /// counts. "Unreachable" and "no route" count alike: the kernel gives both for a single link without a route.
    ///
    /// - Parameter questions: Each with the addresses that stand for one destination.
    private mutating func best(of questions: [[RouteQuery]], keepsReasons: Bool = false) -> RouteOutcome? {
      var replies: [(RouteQuery, RouteAnswer)] = []
      for queries in questions {
        if let reply = reply(to: queries) { replies.append(reply) }
      }
      guard replies.count == questions.count else { return .open }
      var failure: ReachabilityReason?
      var isMisled = false
      for (query, answer) in replies {
        trace.record(.answerBeneath(query, answer))
        guard !misleads(answer) else {
          isMisled = true
          continue
        }
        switch over(answer, query.family) {
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

    /// Returns the kernel's first answer that is a way, else its first answer. Nil if the kernel has to be asked.
    private mutating func reply(to queries: [RouteQuery]) -> (RouteQuery, RouteAnswer)? {
      trace.asksBeneathTunnel = true
      var reply: (query: RouteQuery, answer: RouteAnswer)?
      for query in queries {
        guard let answer = trace.answer(to: query, answers) else { return nil }
        if case .hop = answer { return (query, answer) }
        reply = reply ?? (query, answer)
      }
      return reply.flatMap { evaluator.replace($0.answer, to: $0.query, answers, &trace) }
    }

    /// Returns whether the answer leads where the tunnel's packets do not go.
    private func misleads(_ answer: RouteAnswer) -> Bool {
      guard case .hop(let hop) = answer, let link = snapshot.interface(hop.interfaceIndex) else { return false }
      return link.role == .sink || link.isIgnored
    }

    /// Returns the marks whose packets do not go by the tunnel's table. Nil if the rules have to be asked for.
    private mutating func marks(for table: UInt32) -> [UInt32]? {
      trace.asksBeneathTunnel = true
      var marks: [UInt32] = []
      var isComplete = true
      for family in AddressFamily.allCases {
        guard let answer = trace.answer(to: .rules(family), answers) else {
          isComplete = false
          continue
        }
        // A kernel without rules or without IPv6 refuses the question.
        guard case .rules(let rules) = answer else { continue }
        for mark in rules.marks(passing: table) where !marks.contains(mark) { marks.append(mark) }
      }
      return isComplete ? marks : nil
    }

    // MARK: The routes of the VPN's own packets

    /// The most single addresses whose way is asked for.
    private static let hostRouteLimit = 32

    /// Evaluates the link over which the packets to single addresses leave, because VPN clients write a route to their server.
    /// That link carries the tunnel, alive or dead, even if another one has a better default route. If there are several such
    /// links, any of those that are alive could carry it. With `ignore_routes_with_linkdown` the kernel leaves out routes over dead links;
    /// then a dead link carries the tunnel. Nil if there is none.
    ///
    /// If the routes have vanished, those count that were there before, unless somebody has removed them from a link that works.
    private mutating func overHostRoutes(beneath tunnel: Interface) -> RouteOutcome? {
      let candidates = linksWithHostRoutes
      guard !candidates.isEmpty else { return nil }
      guard let routes = hostRoutes(beneath: tunnel, over: candidates) else { return .open }
      var servers = ServerRoutes(routes: routes)
      if routes.isEmpty {
        guard let known = evaluator.servers[tunnel.index], known.areLost || known.routes.allSatisfy(isLost) else {
          trace.servers[tunnel.index] = servers
          return nil
        }
        servers = known
      }
      var replies: [(hop: RouteHop, query: RouteQuery)] = []
      var isOpen = false
      for route in servers.routes.prefix(Self.hostRouteLimit) {
        let query = RouteQuery(route.destination)
        guard let answer = trace.answer(to: query, answers) else {
          isOpen = true
          continue
        }
        guard case .hop(let hop) = answer, candidates.contains(hop.interfaceIndex),
          !replies.contains(where: { $0.hop.interfaceIndex == hop.interfaceIndex })
        else { continue }
        replies.append((hop, query))
      }
      if isOpen { return .open }
      guard let first = replies.first else {
        servers.areLost = servers.areLost || servers.routes.allSatisfy(isLost)
        trace.servers[tunnel.index] = servers
        let dead = servers.routes.compactMap { route in evaluator.fault(ofLink: route.link).map { (route.link, $0) } }
        guard let (link, fault) = dead.first else { return servers.areLost ? .failed(.vpnWithoutUnderlay) : nil }
        record(tunnel, .hostRoutes([link]))
        trace.record(.link(link, fault: fault))
        return .failed(fault)
      }
      servers.areLost = false
      trace.servers[tunnel.index] = servers
      let links = replies.map(\.hop.interfaceIndex)
      record(tunnel, .hostRoutes(links))
      let alive = replies.filter { evaluator.fault(ofLink: $0.hop.interfaceIndex) == nil }
      if replies.count > 1, !alive.isEmpty { return unknown(beneath: tunnel, among: alive.map(\.hop.interfaceIndex)) }
      let chosen = alive.first ?? first
      trace.record(.answerBeneath(chosen.query, .hop(chosen.hop)))
      return over(.hop(chosen.hop), chosen.query.family)
    }

    /// The most links that are asked for routes although they have no address.
    private static let linkLimit = 16

    /// The links that could have routes to servers: also those without an address, over which packets take that of another link, but
    /// not if there are many, such as those of containers.
    private var linksWithHostRoutes: [Int32] {
      let outward = snapshot.interfaces.indices.filter {
        snapshot.leadsOutward(at: $0) && evaluator.mayHaveRoutes(snapshot.interfaces[$0])
      }
      return outward.count > Self.linkLimit
        ? snapshot.possibleCarriers(allowingLinkLocalIPv4: evaluator.allowsLinkLocalIPv4)
        : outward.map { snapshot.interfaces[$0].index }
    }

    /// Returns the single addresses to which somebody has written routes, and over which of these links. Nil if the kernel has to
    /// be asked.
    private mutating func hostRoutes(
      beneath tunnel: Interface, over links: [Int32]
    ) -> [ServerRoutes.Route]? {
      trace.asksBeneathTunnel = true
      trace.usesHostRoutes = true
      var found: [ServerRoutes.Route] = []
      var isComplete = true
      for link in links {
        for family in AddressFamily.allCases {
          switch trace.answer(to: .hostRoutes(family, over: link), answers) {
          case .hostRoutes(let destinations):
            for destination in destinations where !tunnel.addresses.contains(where: { $0.covers(destination) }) {
              found.append(.init(destination: destination, link: link))
            }
          case nil: isComplete = false
          default: break
          }
        }
      }
      return isComplete ? found : nil
    }

    /// Returns whether the route's link has no carrier, or no address for the route.
    private func isLost(_ route: ServerRoutes.Route) -> Bool {
      if evaluator.fault(ofLink: route.link) != nil { return true }
      return snapshot.interface(route.link)?.addresses.contains {
        $0.address.family == route.destination.family
          && $0.isUsable(allowingLinkLocalIPv4: evaluator.allowsLinkLocalIPv4)
      } != true
    }

    // MARK: The default route beside the tunnel

    /// The links over which a default route can lead past the tunnels.
    private var linksBesideTunnels: [Interface] {
      snapshot.interfaces.filter {
        (snapshot.tunnel(beneath: $0.index)?.isCarriedElsewhere ?? true) && $0.role != .sink && !$0.isIgnored
          && evaluator.mayHaveRoutes($0) && !snapshot.isPort($0)
      }
    }

    /// Evaluates the default route that exists beside the tunnels. Nil if there is none. IPv4's comes before IPv6's, because
    /// the tunnel's own packets may be of either. If the best route runs over a dead link, the tunnel is dead: the kernel
    /// uses no other route.
    private mutating func overBestRoute() -> RouteOutcome? {
      let links = linksBesideTunnels
      trace.asksBeneathTunnel = true
      var isOpen = false
      var failure: RouteOutcome?
      for family in AddressFamily.allCases {
        guard let (hops, query) = evaluator.hops(over: links, to: internet(family), answers, &trace) else {
          isOpen = true
          continue
        }
        for hop in hops {
          let outcome = evaluator.evaluate(hop, family)
          trace.record(.answerBeneath(query.over(hop.interfaceIndex), .hop(hop)))
          evaluator.record(hop, outcome, &trace)
          if outcome.isReachable, !isOpen { return beneath(outcome, hop) }
          failure = failure ?? outcome
          if evaluator.fault(ofLink: hop.interfaceIndex) != nil { break }
        }
      }
      return isOpen ? .open : failure
    }

    private mutating func beneath(_ outcome: RouteOutcome, _ hop: RouteHop) -> RouteOutcome {
      guard let tunnel = snapshot.tunnel(beneath: hop.interfaceIndex) else { return outcome }
      return underlay(of: tunnel, table: hop.table)
    }

    // MARK: No default route beside the tunnel

    /// Evaluates the links that could carry the tunnel if it has replaced the default route: the only one that is alive
    /// carries it.
    private mutating func overCandidates(beneath tunnel: Interface) -> RouteOutcome {
      let candidates = snapshot.possibleCarriers(allowingLinkLocalIPv4: evaluator.allowsLinkLocalIPv4)
      let alive = candidates.filter { evaluator.fault(ofLink: $0) == nil }
      guard let chosen = alive.first.flatMap(snapshot.interface) else {
        trace.record(.noneInstead)
        return .failed(.vpnWithoutUnderlay)
      }
      trace.record(.candidates(candidates))
      return alive.count > 1 ? unknown(beneath: tunnel, among: alive) : over(chosen)
    }

    /// Returns that something carries the tunnel and nothing tells what.
    private func unknown(beneath tunnel: Interface, among links: [Int32]) -> RouteOutcome {
      let links = links.compactMap(snapshot.interface)
      let source = tunnel.addresses.first?.address ?? .v4(0)
      return .reachable(
        .init(address: source, gateway: nil, interfaceIndex: tunnel.index),
        over: .unknown(
          isCellular: !links.isEmpty && links.allSatisfy { $0.medium == .wwan },
          LinkCost(
            links.contains(where: \.isExpensive) ? .unknown : nil,
            isConstrained: links.contains(where: \.isConstrained))))
    }
  }
}

extension RouteAnswer {
  fileprivate func table(over index: Int32) -> UInt32 {
    hops.first { $0.interfaceIndex == index }?.table ?? RoutingRule.mainTable
  }
}

extension [RoutingRule] {
  /// Returns the marks whose packets pass a table by. wg-quick writes `not fwmark 51820 lookup 51820`; others put
  /// `fwmark … lookup main` before the rule for their table. Rules that select by more than a mark are for other traffic.
  package func marks(passing table: UInt32) -> [UInt32] {
    let general = filter { !$0.hasOtherSelectors && $0.source == nil && $0.suppressedPrefixLength == nil }
    let exceptions = general.filter { $0.isInverted && $0.mark != 0 && $0.table == table }
    if !exceptions.isEmpty { return exceptions.map(\.mark) }
    guard let own = general.firstIndex(where: { $0.table == table }) else { return [] }
    return general[..<own].filter { !$0.isInverted && $0.mark != 0 && $0.table == RoutingRule.mainTable }.map(\.mark)
  }
}
