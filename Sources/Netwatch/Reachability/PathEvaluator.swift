/// Turns facts and the kernel's answers into a verdict. If an answer is missing, reports which one.
package struct PathEvaluator: Sendable {
  /// The known links and addresses.
  package internal(set) var snapshot: NetworkSnapshot
  /// The routes to the servers of tunnels as they were found last, by the index of each tunnel.
  var servers: [Int32: ServerRoutes] = [:]
  let includesInterface: (@Sendable (_ name: String) -> Bool)?
  /// The only kind of link that counts; nil for any.
  private let requiredMedium: Medium?
  private let prohibitedMedia: Set<Medium>
  private(set) var allowsLinkLocalIPv4: Bool
  /// The rules of the machine.
  private var machineRules = NetworkRules()
  /// The namespaces that this process does not share with the machine's first process, as in a container.
  let namespaces: IsolatedNamespaces
  /// The id of the user whose packets reach the target.
  let user: UInt32
  /// The VRF to which the sockets of this process are bound (`ip vrf exec`); 0 for none.
  let vrf: Int32
  /// The TCP port of the target; nil for none.
  let port: UInt16?
  private let findsAllCarriers: Bool

  init(configuration: MonitorConfiguration, namespaces: IsolatedNamespaces, user: UInt32, vrf: Int32) {
    includesInterface = configuration.includesInterface
    requiredMedium = configuration.requiredMedium
    prohibitedMedia = configuration.prohibitedMedia
    allowsLinkLocalIPv4 = configuration.allowsLinkLocalIPv4 || configuration.rules.allowsLinkLocal
    port = configuration.target.port
    findsAllCarriers = configuration.findsAllCarriers
    self.namespaces = namespaces
    self.user = user
    self.vrf = vrf
    snapshot = NetworkSnapshot(InterfaceRules(configuration))
  }

  /// Judges by these rules of the machine from now on. They apply to a link when it is reported again.
  ///
  /// - Returns: Whether they differ from those before.
  mutating func use(_ rules: NetworkRules, besides configuration: MonitorConfiguration) -> Bool {
    guard rules.judging != machineRules.judging else { return false }
    machineRules = rules
    snapshot.named = InterfaceRules(configuration, machine: rules)
    allowsLinkLocalIPv4 =
      configuration.allowsLinkLocalIPv4 || configuration.rules.allowsLinkLocal || rules.allowsLinkLocal
    return true
  }

  /// The result of judging one way out.
  package enum RouteOutcome: Hashable {
    /// The carrier is the route's own link, or the link beneath the tunnel that the route leads into.
    case reachable(NetworkPath.FamilyPath, over: Carrier)
    case failed(ReachabilityReason)
    /// Something has to be asked first.
    case open
  }

  /// The link that carries the traffic of a way.
  package enum Carrier: Hashable, Sendable {
    case link(Int32)
    /// A link beneath the tunnel of the route, and nothing tells which. With it: whether all possible links are cellular, and
    /// what using any of them costs.
    case unknown(isCellular: Bool, LinkCost)

    var isKnown: Bool { if case .link = self { true } else { false } }
  }

  /// The result of evaluating the answers.
  package struct Evaluation {
    package var verdict = NetworkPath.Verdict.notReachable
    /// The failure of the family whose way got furthest.
    package var failure = ReachabilityReason.noRoute
    /// The links that carry traffic besides that of the verdict. Empty unless all are to be found.
    var otherCarriers: [Int32] = []
  }

  // MARK: Both families

  /// Evaluates the answers for both families.
  ///
  /// - Parameter trace: Gets the questions to ask before there is a verdict.
  package func evaluate(
    _ answers: [RouteQuery: RouteAnswer], to destinations: Destinations, _ trace: inout EvaluationTrace
  ) -> Evaluation {
    var evaluation = Evaluation()
    var carriers: [(family: AddressFamily, way: NetworkPath.FamilyPath, carrier: Carrier)] = []
    for family in AddressFamily.allCases where !destinations[family].isEmpty {
      switch evaluate(family, answers, to: destinations, &trace) {
      case .reachable(var way, let carrier):
        way.kernelName = snapshot.interface(way.interfaceIndex)?.kernelName
        if family == .ipv4 { evaluation.verdict.ipv4 = way } else { evaluation.verdict.ipv6 = way }
        carriers.append((family, way, carrier))
      case .failed(let failure):
        let isFurther = evaluation.failure == .noRoute || evaluation.failure == .routeUnreachable && failure != .noRoute
        if isFurther { evaluation.failure = failure }
      case .open: break
      }
    }
    if destinations.isEmpty { evaluation.failure = .unresolved }
    if carriers.isEmpty, trace.missing.isEmpty, evaluation.failure == .noRoute, let best = bestDeadLink {
      // Link managers remove address and route when a cable is pulled. The missing route is not what is wrong.
      evaluation.failure = best.fault
    }
    // IPv4's comes first.
    guard let (_, way, carrier) = carriers.first else {
      if trace.missing.isEmpty, destinations.isInternet {
        evaluation.verdict.isLocalOnly = knowsNeighbours(answers, &trace)
      }
      return evaluation
    }
    switch carrier {
    case .link(let index): complete(&evaluation.verdict, over: index)
    case .unknown(let isCellular, _): complete(&evaluation.verdict, over: way, isCellular: isCellular)
    }
    for (_, way, carrier) in carriers {
      // What the user says about the tunnel of the route counts more than what carries the tunnel.
      let cost = cost(carrier)
      evaluation.verdict.cost.add(snapshot.interface(way.interfaceIndex)?.asUserSays(cost) ?? cost)
    }
    let tunnels = carriers.filter { $0.carrier != .link($0.way.interfaceIndex) && isTunnel($0.way.interfaceIndex) }
    if let (_, way, carrier) = tunnels.first, let tunnel = snapshot.tunnel(beneath: way.interfaceIndex) {
      evaluation.verdict.vpn = VPN(
        kernelName: tunnel.kernelName, interfaceIndex: tunnel.index, kind: tunnel.role.tunnelKind ?? .other,
        isCarrierKnown: carrier.isKnown, families: Set(tunnels.map(\.family)))
    }
    if findsAllCarriers {
      for (family, way, carrier) in carriers {
        let others = otherHops(than: way, family, answers, &trace).map { hop in
          descend(evaluateSocket(hop, family), hop, answers, &trace)
        }
        for case .reachable(_, .link(let index)) in [.reachable(way, over: carrier)] + others.filter(counts)
        where index != evaluation.verdict.interfaceIndex && !evaluation.otherCarriers.contains(index) {
          evaluation.otherCarriers.append(index)
        }
      }
    }
    return evaluation
  }

  /// Returns the other next hops of the route that leads to a way. The kernel chooses one of them for each connection, by a hash.
  private func otherHops(
    than way: NetworkPath.FamilyPath, _ family: AddressFamily, _ answers: [RouteQuery: RouteAnswer],
    _ trace: inout EvaluationTrace
  ) -> [RouteHop] {
    func leadsThere(_ query: RouteQuery) -> Bool {
      query.kind == .way && query.family == family
        && answers[query]?.hops.contains { $0.interfaceIndex == way.interfaceIndex && $0.gateway == way.gateway }
          ?? false
    }
    // IPv4 asks a second time, with the source of the first answer, and that answer decides.
    guard hasChoice(ofLiveLinks: true), let query = trace.used.last(where: leadsThere),
      let route = trace.answer(to: query.asking(.route), answers)
    else { return [] }
    return route.withoutDeadHops.hops.filter {
      $0.interfaceIndex != way.interfaceIndex && includesLink($0.interfaceIndex)
    }
  }

  /// The links without a fault that could carry traffic if a route led over them.
  var liveCarriers: [Int32] {
    snapshot.possibleCarriers(allowingLinkLocalIPv4: allowsLinkLocalIPv4).filter {
      fault(ofLink: $0) == nil && includesLink($0)
    }
  }

  /// Returns whether other machines are known on a link that could carry traffic.
  private func knowsNeighbours(_ answers: [RouteQuery: RouteAnswer], _ trace: inout EvaluationTrace) -> Bool {
    let links = liveCarriers
    guard !links.isEmpty, case .neighbours(let known)? = trace.answer(to: .neighbours, answers) else { return false }
    return links.contains(where: known.contains)
  }

  private func cost(_ carrier: Carrier) -> LinkCost {
    switch carrier {
    case .link(let index): snapshot.interface(index)?.cost ?? LinkCost()
    case .unknown(_, let cost): cost
    }
  }

  /// Completes a verdict if nothing tells what carries the tunnel.
  private func complete(_ verdict: inout NetworkPath.Verdict, over way: NetworkPath.FamilyPath, isCellular: Bool) {
    verdict.status = isCellular ? .wwan : .wifi
    verdict.medium = .other
    verdict.interfaceName = way.kernelName
    verdict.interfaceIndex = way.interfaceIndex
  }

  /// Adds to a reachable verdict what is known of its link.
  private func complete(_ verdict: inout NetworkPath.Verdict, over index: Int32) {
    guard let link = snapshot.interface(index) else { return }
    verdict.status = ReachabilityStatus(of: link.medium)
    verdict.medium = link.medium
    verdict.interfaceName = link.kernelName
    verdict.interfaceIndex = index
    if link.medium == .wifi { verdict.ssid = snapshot.radio(below: index)?.wireless?.ssid }
  }

  // MARK: One family

  /// Returns the question for the way of this user's packets to an address.
  func query(_ destination: InternetAddress) -> RouteQuery {
    var query = RouteQuery(destination, user: user, port: port)
    query.vrf = vrf
    return query
  }

  /// Evaluates the destinations of a family: returns the first one that can be reached.
  private func evaluate(
    _ family: AddressFamily, _ answers: [RouteQuery: RouteAnswer], to all: Destinations, _ trace: inout EvaluationTrace
  ) -> RouteOutcome {
    if all.isInternet { return evaluateInternet(family, answers, &trace) }
    var first: RouteOutcome?
    for destination in all[family] {
      trace.record(.destination(destination))
      let outcome = evaluate(query(destination), answers, &trace)
      trace.record(outcome.step)
      if case .failed = outcome {
        first = first ?? outcome
      } else {
        // Destinations after an open one are asked for together with it.
        if case .reachable = outcome, first != .open { return outcome }
        first = .open
      }
    }
    return first ?? .failed(.noRoute)
  }

  // MARK: The internet

  /// Returns the addresses to ask for, in order.
  func standIns(_ family: AddressFamily) -> [InternetAddress] {
    let (first, last) = (snapshot.standIn(family), Destinations.fallback(family))
    return first == last ? [last] : [first, last]
  }

  /// Evaluates the way to the first address that stands for the internet and about which the kernel's answer tells something.
  private func evaluateInternet(
    _ family: AddressFamily, _ answers: [RouteQuery: RouteAnswer], _ trace: inout EvaluationTrace
  ) -> RouteOutcome {
    let (first, last) = (query(snapshot.standIn(family)), query(Destinations.fallback(family)))
    guard let (decisive, answer) = decisive(first, last, answers, &trace) else { return .open }
    trace.record(.destination(decisive.destination))
    if decisive != first, let answer = answers[first] { trace.record(.passedOver(first.destination, answer)) }
    let outcome = evaluate(answer, to: decisive, orElse: decisive == last ? nil : last, answers, &trace)
    trace.record(outcome.step)
    return outcome
  }

  /// Returns the question whose answer counts, and that answer. Nil if the kernel has to be asked.
  private func decisive(
    _ first: RouteQuery, _ last: RouteQuery, _ answers: [RouteQuery: RouteAnswer], _ trace: inout EvaluationTrace
  ) -> (RouteQuery, RouteAnswer)? {
    guard let answer = trace.answer(to: first, answers) else { return nil }
    guard first != last else { return (last, answer) }
    if case .hop(let hop) = answer {
      if hop.gateway != nil || isTunnel(hop.interfaceIndex) { return (first, answer) }
      // The route to the address may be that of a network on the link itself.
      guard let route = trace.answer(to: first.asking(.route), answers) else { return nil }
      guard case .hop(let hop) = route, isOnLink(hop) else { return (first, answer) }
    }
    guard let other = trace.answer(to: last, answers) else { return nil }
    return other == answer ? (first, answer) : (last, other)
  }

  /// Returns whether the route is about the link's own network and not about the internet.
  private func isOnLink(_ hop: RouteHop) -> Bool {
    hop.isAutomatic && hop.gateway == nil && hop.prefixLength > Destinations.defaultPrefixLength
      && !isTunnel(hop.interfaceIndex)
  }
}

extension PathEvaluator.RouteOutcome {
  var step: EvaluationTrace.Step {
    switch self {
    case .reachable(_, .link(let link)): .outcome(failure: nil, link: link)
    case .reachable(_, .unknown): .outcome(failure: nil, link: nil)
    case .failed(let reason): .outcome(failure: reason, link: nil)
    case .open: .outcome(failure: .unresolved, link: nil)
    }
  }

  var isReachable: Bool {
    if case .reachable = self { true } else { false }
  }
}

/// The way to one destination: the kernel's answer about it, and what is known of the links that it names.
extension PathEvaluator {
  // MARK: One destination

  /// Evaluates the way to one destination.
  func evaluate(
    _ query: RouteQuery, _ answers: [RouteQuery: RouteAnswer], _ trace: inout EvaluationTrace
  ) -> RouteOutcome {
    guard let answer = trace.answer(to: query, answers) else { return .open }
    return evaluate(answer, to: query, orElse: nil, answers, &trace)
  }

  /// Evaluates the kernel's answer about one destination.
  ///
  /// - Parameter other: The question for an address that also stands for the destination, over links that the kernel did not
  ///   choose. Nil for none.
  private func evaluate(
    _ answer: RouteAnswer, to query: RouteQuery, orElse other: RouteQuery?, _ answers: [RouteQuery: RouteAnswer],
    _ trace: inout EvaluationTrace
  ) -> RouteOutcome {
    guard let (deciding, answer) = decidingAnswer(answer, to: query, answers, &trace) else { return .open }
    guard case .hop(let hop) = answer else {
      guard let source = deciding.source, deciding != query else { return evaluate(answer, query.family) }
      // The table for this source may be the one that filters the address.
      if let other { return evaluate(other, answers, &trace) }
      return evaluateOtherSources(than: source, query, answers, &trace) ?? evaluate(answer, query.family)
    }
    if !includesLink(hop.interfaceIndex) {
      trace.record(.excluded(link: hop.interfaceIndex))
      return evaluateOthers(to: [query] + (other.map { [$0] } ?? []), answers, &trace)
    }
    var outcome = evaluate(hop, query.family)
    if case .failed(.noAddress) = outcome { outcome = evaluateSource(of: hop, outcome, query, answers, &trace) }
    record(hop, outcome, &trace)
    switch outcome {
    case .open: return .open
    case .reachable:
      let way = isTunnel(hop.interfaceIndex) ? descend(outcome, hop, answers, &trace) : outcome
      if counts(way) { return way }
      trace.record(.excluded(link: hop.interfaceIndex))
      return evaluateOthers(to: [query] + (other.map { [$0] } ?? []), answers, &trace)
    case .failed:
      let other = evaluateOtherHops(than: hop, outcome, deciding, answers, &trace)
      return counts(other) ? other : outcome
    }
  }

  /// Returns the question and the answer that decide for a socket without an address. In IPv4, connect(2) looks up a way, takes a
  /// source from it, and looks up again with that source, for which rules may choose another table. In IPv6 it keeps the first way.
  /// Nil if the kernel has to be asked.
  private func decidingAnswer(
    _ answer: RouteAnswer, to query: RouteQuery, _ answers: [RouteQuery: RouteAnswer], _ trace: inout EvaluationTrace
  ) -> (RouteQuery, RouteAnswer)? {
    guard case .hop(let hop) = answer, let source = hop.source else {
      guard let found = replace(answer, to: query, answers, &trace) else { return nil }
      trace.record(.answer(found.query, found.answer))
      return found
    }
    trace.record(.answer(query, answer))
    guard query.family == .ipv4 else { return (query, answer) }
    guard let rules = trace.answer(to: .rules(.ipv4), answers) else { return nil }
    guard rules.rules.contains(where: { $0.selects(source) }) else { return (query, answer) }
    let query = query.from(source)
    guard let second = trace.answer(to: query, answers) else { return nil }
    trace.record(.answer(query, second))
    return (query, second)
  }

  /// Returns the first way of packets from one of this machine's addresses in place of an answer that is no way, else the same
  /// answer. IPv6 alone: it finds routes from a prefix, and tables by the source, only if it knows the source, and connect(2)
  /// then looks up with one. Nil if the kernel has to be asked.
  func replace(
    _ answer: RouteAnswer, to query: RouteQuery, _ answers: [RouteQuery: RouteAnswer], _ trace: inout EvaluationTrace
  ) -> (query: RouteQuery, answer: RouteAnswer)? {
    guard query.family == .ipv6, query.source == nil, answer == .noRoute || answer == .refused,
      !sources(on: query.link, []).isEmpty
    else { return (query, answer) }
    guard let rules = trace.answer(to: .rules(.ipv6), answers) else { return nil }
    var found: (RouteQuery, RouteAnswer)?
    var isComplete = true
    for source in sources(on: query.link, rules.rules) {
      let query = query.from(source)
      switch trace.answer(to: query, answers) {
      case let answer? where answer.isWay: found = found ?? (query, answer)
      case _?: break
      case nil: isComplete = false
      }
    }
    return isComplete ? found ?? (query, answer) : nil
  }

  /// The most sources that are asked for.
  private static let sourceLimit = 32

  /// Returns the addresses that IPv6 packets to other networks can come from, those that are not deprecated first: one of each
  /// network of 64 bits, because routes are for networks, and those that some rule selects.
  ///
  /// - Parameter index: The link that has them; 0 for any.
  private func sources(on index: Int32, _ rules: [RoutingRule]) -> [InternetAddress] {
    var usable: [InterfaceAddress] = []
    for position in snapshot.interfaces.indices where index == 0 || snapshot.interfaces[position].index == index {
      for address in snapshot.interfaces[position].addresses where address.address.family == .ipv6 && isUsable(address)
      {
        usable.append(address)
      }
    }
    if usable.isEmpty { return [] }
    var found: [InternetAddress] = []
    let sorted = [usable.filter { !$0.isDeprecated }, usable.filter(\.isDeprecated)].flatMap {
      $0.map(\.address).sorted(by: Self.isFirst)
    }
    for address in sorted where found.count < Self.sourceLimit {
      let isNew = !found.contains { $0.shares(64, with: address) }
      if isNew || rules.contains(where: { $0.selects(address) }) && !found.contains(address) { found.append(address) }
    }
    return found
  }

  /// Evaluates a source that is on no link. It may belong to a `local` route of a whole prefix (AnyIP).
  private func evaluateSource(
    of hop: RouteHop, _ outcome: RouteOutcome, _ query: RouteQuery, _ answers: [RouteQuery: RouteAnswer],
    _ trace: inout EvaluationTrace
  ) -> RouteOutcome {
    guard let source = hop.source, !snapshot.knows(source),
      source.isUsableSource(allowingLinkLocalIPv4: allowsLinkLocalIPv4)
    else { return outcome }
    guard let answer = trace.answer(to: self.query(source), answers) else { return .open }
    guard case .own = answer else { return outcome }
    return .reachable(
      .init(address: source, gateway: hop.gateway, interfaceIndex: hop.interfaceIndex), over: .link(hop.interfaceIndex))
  }

  /// Evaluates the other hops of the route if the link of the chosen hop is dead. Another hop only counts if it works;
  /// otherwise the fault of the chosen one is reported.
  private func evaluateOtherHops(
    than hop: RouteHop, _ outcome: RouteOutcome, _ query: RouteQuery, _ answers: [RouteQuery: RouteAnswer],
    _ trace: inout EvaluationTrace
  ) -> RouteOutcome {
    guard snapshot.position(of: hop.interfaceIndex) != nil else { return outcome }
    let route = query.asking(.route)
    guard let hops = trace.answer(to: route, answers) else { return .open }
    guard case .hops(let others) = hops,
      var next = others.first(where: { includesLink($0.interfaceIndex) && evaluateSocket($0, query.family).isReachable }
      )
    else { return outcome }
    // The kernel knows which of several sources it takes there.
    let sourced = query.over(next.interfaceIndex).asking(.sourcedWay)
    guard let answer = trace.answer(to: sourced, answers) else { return .open }
    if case .hop(let hop) = answer, hop.isSameWay(as: next), evaluate(hop, query.family).isReachable { next = hop }
    let other = evaluateSocket(next, query.family)
    trace.record(.answer(route, .hop(next)))
    record(next, other, &trace)
    return descend(other, next, answers, &trace)
  }

  /// Evaluates the other hops of a route if a rule forbids packets from the source of the chosen one: another socket's packets may take
  /// another hop, with another source. Nil if none of them is a way.
  private func evaluateOtherSources(
    than forbidden: InternetAddress, _ query: RouteQuery, _ answers: [RouteQuery: RouteAnswer],
    _ trace: inout EvaluationTrace
  ) -> RouteOutcome? {
    guard let route = trace.answer(to: query.asking(.route), answers) else { return .open }
    var found: RouteOutcome?
    var isComplete = true
    for hop in route.hops where includesLink(hop.interfaceIndex) {
      guard case .reachable(let path, _) = evaluate(hop, query.family), path.address != forbidden else { continue }
      let query = query.from(path.address)
      guard let answer = trace.answer(to: query, answers) else {
        isComplete = false
        continue
      }
      guard found == nil, case .hop(let hop) = answer else { continue }
      let outcome = evaluate(hop, query.family)
      guard outcome.isReachable else { continue }
      trace.record(.answer(query, answer))
      record(hop, outcome, &trace)
      let way = descend(outcome, hop, answers, &trace)
      if counts(way) { found = way }
    }
    return isComplete ? found : .open
  }

  /// Evaluates the best way over links that count, if the link that the kernel has chosen does not count.
  private func evaluateOthers(
    to queries: [RouteQuery], _ answers: [RouteQuery: RouteAnswer], _ trace: inout EvaluationTrace
  ) -> RouteOutcome {
    let links = snapshot.interfaces.filter { includes($0) && mayHaveRoutes($0) }
    guard let (hops, query) = hops(over: links, to: queries, answers, &trace) else { return .open }
    if hops.isEmpty { trace.record(.noneInstead) }
    var first: RouteOutcome?
    for hop in hops {
      let outcome = evaluate(hop, query.family)
      trace.record(.answer(query.over(hop.interfaceIndex), .hop(hop)))
      record(hop, outcome, &trace)
      guard outcome.isReachable else {
        first = first ?? outcome
        continue
      }
      let way = descend(outcome, hop, answers, &trace)
      if counts(way) { return way }
      trace.record(.excluded(link: hop.interfaceIndex))
    }
    return first ?? .failed(.noRoute)
  }

  /// Returns whether routes over the link can exist. Links without carrier count: after a cable was pulled the route is still
  /// there, and tells what is wrong.
  func mayHaveRoutes(_ interface: Interface) -> Bool { interface.isAdministrativelyUp && !interface.isLoopback }

  /// Returns the hops over single links, the best one first, by the first question to which any of them is an answer, at last by
  /// the first question with a source. Nil if some have not been asked for. More than one question means addresses that stand for
  /// the internet.
  func hops(
    over links: [Interface], to queries: [RouteQuery], _ answers: [RouteQuery: RouteAnswer],
    _ trace: inout EvaluationTrace
  ) -> (hops: [RouteHop], query: RouteQuery)? {
    for query in queries {
      guard var hops = hops(over: links, to: query, hasSource: false, answers, &trace) else { return nil }
      if queries.count > 1 { hops.removeAll(where: isOnLink) }
      if !hops.isEmpty { return (hops, query) }
    }
    guard let query = queries.first else { return nil }
    return hops(over: links, to: query, hasSource: true, answers, &trace).map { ($0, query) }
  }

  private func hops(
    over links: [Interface], to query: RouteQuery, hasSource: Bool, _ answers: [RouteQuery: RouteAnswer],
    _ trace: inout EvaluationTrace
  ) -> [RouteHop]? {
    var found: [RouteHop] = []
    var isComplete = true
    for link in links {
      let query = query.over(link.index)
      var answer = trace.answer(to: query, answers)
      if hasSource { answer = answer.flatMap { replace($0, to: query, answers, &trace)?.answer } }
      if answer == nil { isComplete = false }
      // A route may lead over other links too, and with a source, IPv6 may answer with another route.
      found += answer?.hops.filter { $0.interfaceIndex == link.index } ?? []
    }
    guard isComplete else { return nil }
    return found.sorted { ($0.metric, $0.interfaceIndex) < ($1.metric, $1.interfaceIndex) }
  }

  // MARK: One way

  /// Records the steps in which a hop was judged.
  func record(_ hop: RouteHop, _ outcome: RouteOutcome, _ trace: inout EvaluationTrace) {
    guard trace.steps != nil else { return }
    let fault = fault(ofLink: hop.interfaceIndex)
    trace.record(.link(hop.interfaceIndex, fault: fault))
    if fault != nil { return }
    if case .reachable(let path, _) = outcome {
      trace.record(.source(path.address, isUsable: true, link: hop.interfaceIndex))
    } else {
      trace.record(.source(hop.source, isUsable: false, link: hop.interfaceIndex))
    }
  }

  /// Evaluates an answer: returns the way over the first hop that works. The hops are sorted by preference.
  func evaluate(_ answer: RouteAnswer, _ family: AddressFamily) -> RouteOutcome {
    switch answer {
    case .noRoute, .rules, .hostRoutes, .neighbours: return .failed(.noRoute)
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

  /// Evaluates a hop for a socket without an address: over a link that has none, its packets take that of another link.
  private func evaluateSocket(_ hop: RouteHop, _ family: AddressFamily) -> RouteOutcome {
    let outcome = evaluate(hop, family)
    guard outcome == .failed(.noAddress), hop.source == nil else { return outcome }
    for link in snapshot.interfaces {
      if let source = usableSource(on: link, family, forRouteOf: hop.scope) {
        return .reachable(
          .init(address: source, gateway: hop.gateway, interfaceIndex: hop.interfaceIndex),
          over: .link(hop.interfaceIndex))
      }
    }
    return outcome
  }

  /// Returns the fault that keeps a link from carrying packets. Nil if there is none.
  package func fault(ofLink index: Int32) -> ReachabilityReason? {
    guard let position = snapshot.position(of: index), snapshot.interfaces[position].isAdministrativelyUp else {
      return .linkDown
    }
    if snapshot.interfaces[position].hasCarrier, snapshot.interfaces[position].operationalState == .dormant {
      return .dormant
    }
    guard snapshot.interfaces[position].isRunning else { return .noCarrier }
    if snapshot.interfaces[position].needsPorts, !snapshot.hasRunningPort(index) { return .noCarrier }
    if snapshot.interfaces[position].role == .sink { return .routeUnreachable }
    return snapshot.hasIgnoredLinks && snapshot.hasIgnoredLowerDevice(index) ? .noCarrier : nil
  }

  /// The link that is nearest to working, and its fault: without a carrier, then dormant, then switched off. Cards come before links
  /// without hardware. Nil if a link works, or if there is none.
  var bestDeadLink: (index: Int32, fault: ReachabilityReason)? {
    for areCards in [true, false] {
      var dead: [(index: Int32, fault: ReachabilityReason)] = []
      for position in snapshot.interfaces.indices
      where snapshot.isHardware(at: position) == areCards && snapshot.leadsOutward(at: position)
        && includes(snapshot.interfaces[position])
      {
        let index = snapshot.interfaces[position].index
        guard let fault = fault(ofLink: index) else { return nil }
        dead.append((index, fault))
      }
      let order = [ReachabilityReason.noCarrier, .dormant, .linkDown]
      if !dead.isEmpty { return order.lazy.compactMap { fault in dead.first { $0.fault == fault } }.first }
    }
    return nil
  }

  /// Returns whether the kernel may have a choice between links: at least two could carry traffic.
  ///
  /// - Parameter isAlive: Whether one of them at least has to be without a fault.
  func hasChoice(ofLiveLinks isAlive: Bool) -> Bool {
    let links = snapshot.possibleCarriers(allowingLinkLocalIPv4: allowsLinkLocalIPv4)
    return links.count > 1 && (!isAlive || links.contains { fault(ofLink: $0) == nil })
  }

  /// The most links over which routes are looked for that the kernel could have chosen as well.
  private static let rivalLimit = 16

  /// Returns the questions for the routes that the kernel could have chosen in place of these.
  func rivalQuestions(to ways: [(query: RouteQuery, hop: RouteHop)]) -> [RouteQuery] {
    if ways.isEmpty { return [] }
    let links = snapshot.possibleCarriers(allowingLinkLocalIPv4: allowsLinkLocalIPv4)
    guard links.count > 1 else { return [] }
    return ways.flatMap { query, hop -> [RouteQuery] in
      guard query.link == 0, links.contains(hop.interfaceIndex) else { return [] }
      let others = links.filter { $0 != hop.interfaceIndex }
      return ([hop.interfaceIndex] + others.prefix(Self.rivalLimit)).map(query.over)
    }
  }

  /// Returns the routers among which the kernel chooses by whether they answer: those of routes that are as specific and not worse
  /// than one in use, and in IPv6 of more specific ones. Among the next hops of one IPv4 route it chooses by a hash. Empty if it has
  /// no choice.
  func rivals(of ways: [(query: RouteQuery, hop: RouteHop)], _ answers: [RouteQuery: RouteAnswer]) -> [Neighbour] {
    var found: [Neighbour] = []
    for (query, hop) in ways where query.link == 0 {
      let routes = snapshot.interfaces.flatMap { link -> [RouteHop] in
        guard let answer = answers[query.over(link.index)] else { return [] }
        if query.family == .ipv4, case .hops = answer { return [] }
        return answer.hops
      }
      guard let own = routes.first(where: { $0.isSameWay(as: hop) }) else { continue }
      let rivals = routes.filter {
        $0.prefixLength == own.prefixLength
          ? $0.metric <= own.metric : query.family == .ipv6 && $0.prefixLength > own.prefixLength
      }
      guard rivals.contains(where: { !$0.isSameWay(as: hop) }) else { continue }
      for rival in rivals {
        if let router = rival.router, !found.contains(router) { found.append(router) }
      }
    }
    return found
  }

  private func usableSource(of hop: RouteHop, _ family: AddressFamily) -> InternetAddress? {
    if let source = hop.source {
      // The source may be on another link (unnumbered), but it has to exist. The kernel returns ::1 or a link-local address
      // while the only global one is tentative, and can name an address that is being removed.
      return isUsable(source, on: hop.interfaceIndex) ? source : nil
    }
    // The kernel names none if the question was for the route itself.
    return snapshot.interface(hop.interfaceIndex).flatMap { usableSource(on: $0, family, forRouteOf: hop.scope) }
  }

  private func usableSource(on link: Interface, _ family: AddressFamily, forRouteOf scope: UInt8) -> InternetAddress? {
    let usable = link.addresses.filter { $0.address.family == family && isUsable($0, forRouteOf: scope) }
    let preferred = usable.filter { !$0.isDeprecated }
    return (preferred.isEmpty ? usable : preferred).map(\.address).min(by: Self.isFirst)
  }

  /// Returns whether one source comes before another. The kernel announces IPv6 addresses in another order than it has them in, so
  /// their own order is taken, in which every netwatch chooses the same. IPv4's is kept.
  private static func isFirst(_ one: InternetAddress, _ other: InternetAddress) -> Bool {
    if case (.v6(let one), .v6(let other)) = (one, other) { one < other } else { false }
  }

  /// Returns whether some link has the address and the address is usable.
  private func isUsable(_ address: InternetAddress, on index: Int32) -> Bool {
    snapshot.hasAddress(on: index) { $0.address == address && isUsable($0, forRouteOf: .max) }
  }

  /// Returns whether traffic may leave over a link. Over a tunnel, that also depends on what carries it.
  package func includes(_ interface: Interface) -> Bool {
    !interface.isIgnored && (includesInterface?(interface.name) ?? true)
      && (allows(interface.medium) || isTunnel(interface.index))
  }

  private func includesLink(_ index: Int32) -> Bool {
    guard includesInterface != nil || snapshot.hasIgnoredLinks || areMediaLimited else { return true }
    return snapshot.interface(index).map(includes) ?? true
  }

  private var areMediaLimited: Bool { requiredMedium != nil || !prohibitedMedia.isEmpty }

  private func allows(_ medium: Medium) -> Bool {
    medium == requiredMedium ?? medium && !prohibitedMedia.contains(medium)
  }

  /// Returns whether a way goes over a link of a kind that counts. If it is not known which link carries a tunnel, it does not count as
  /// soon as some kind does not.
  private func counts(_ outcome: RouteOutcome) -> Bool {
    guard areMediaLimited, case .reachable(_, let carrier) = outcome else { return true }
    switch carrier {
    case .link(let index): return snapshot.interface(index).map { allows($0.medium) } ?? true
    case .unknown: return false
    }
  }

  /// Returns whether the kernel's answer contradicts what is known: it was given before a change that the kernel has already
  /// announced.
  func contradicts(_ answer: RouteAnswer) -> Bool {
    guard case .hop(let hop) = answer else { return false }
    guard let position = snapshot.position(of: hop.interfaceIndex),
      snapshot.interfaces[position].isAdministrativelyUp
    else { return true }
    guard let source = hop.source, !source.isUnspecified else { return false }
    return !snapshot.knows(source, on: hop.interfaceIndex)
  }

  // MARK: Why

  /// Returns why a path is not reachable any more: first what took its link away, then its tunnel.
  func lossReason(published: NetworkPath.Verdict, _ evaluation: Evaluation) -> ReachabilityReason {
    if evaluation.failure == .unresolved { return .unresolved }
    guard let index = published.interfaceIndex else { return evaluation.failure }
    let outer = (published.ipv4 ?? published.ipv6)?.interfaceIndex ?? index
    let tunnel = published.vpn?.interfaceIndex ?? index
    if let fault = fault(ofLink: index) ?? fault(ofLink: tunnel) ?? fault(ofLink: outer) { return fault }
    guard let carrier = snapshot.interface(index), let leaving = snapshot.interface(outer),
      hasAddress(published, over: leaving),
      outer == index || carrier.addresses.contains(where: { isUsable($0) })
    else { return .noAddress }
    return evaluation.failure
  }

  private func isUsable(_ address: InterfaceAddress, forRouteOf scope: UInt8? = nil) -> Bool {
    address.isUsable(forRouteOf: scope, allowingLinkLocalIPv4: allowsLinkLocalIPv4)
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
