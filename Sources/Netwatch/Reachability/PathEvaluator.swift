/// Turns facts and the kernel's answers into a verdict. Where an answer is missing, it says which.
package struct PathEvaluator: Sendable {
  /// What is known of links and addresses.
  package internal(set) var snapshot: NetworkSnapshot
  // Not the configuration, which is large: an evaluator is copied for each question to it.
  let includesInterface: (@Sendable (_ name: String) -> Bool)?
  let allowsLinkLocalIPv4: Bool
  /// Those that this process has of its own, as in a container.
  let namespaces: OwnNamespaces

  init(configuration: MonitorConfiguration, namespaces: OwnNamespaces) {
    includesInterface = configuration.includesInterface
    allowsLinkLocalIPv4 = configuration.allowsLinkLocalIPv4
    self.namespaces = namespaces
    snapshot = NetworkSnapshot(NamedLinks(configuration))
  }

  /// What became of one way out.
  package enum Way: Hashable {
    /// The carrier is the route's own link, or what lies beneath the tunnel that it leads into.
    case reachable(NetworkPath.FamilyPath, over: Carrier)
    case failed(ReachabilityReason)
    /// Something has to be asked first.
    case open
  }

  /// What carries the traffic of a way.
  package enum Carrier: Hashable, Sendable {
    case link(Int32)
    /// A link beneath the tunnel of the route, and nothing tells which. Whether all that could are cellular, and whether
    /// one of them may cost money.
    case unknown(isCellular: Bool, isExpensive: Bool)
  }

  /// What the answers amount to.
  package struct Judgement {
    package var verdict = NetworkPath.Verdict.notReachable
    /// Of the families' own failures, the one that got furthest.
    package var failure = ReachabilityReason.noRoute
  }

  // MARK: Both families

  /// - Parameter trail: says what to ask before there is a verdict.
  package func judge(
    _ answers: RouteAnswers, to destinations: Destinations, _ trail: inout EvaluationTrail
  ) -> Judgement {
    var judgement = Judgement()
    var carrier: Carrier?
    if !destinations.ipv4.isEmpty {
      switch judge(.ipv4, answers, to: destinations, &trail) {
      case .reachable(let path, let found):
        judgement.verdict.ipv4 = path
        carrier = found
      case .failed(let failure): judgement.failure = failure
      case .open: break
      }
    }
    if !destinations.ipv6.isEmpty {
      switch judge(.ipv6, answers, to: destinations, &trail) {
      case .reachable(let path, let found):
        judgement.verdict.ipv6 = path
        if judgement.verdict.ipv4 == nil { carrier = found }
      case .failed(let failure):
        let isFurther = judgement.failure == .noRoute || judgement.failure == .routeUnreachable
        if isFurther, failure != .noRoute { judgement.failure = failure }
      case .open: break
      }
    }
    if destinations.isEmpty { judgement.failure = .unresolved }
    switch carrier {
    case .link(let link): complete(&judgement.verdict, over: link)
    case .unknown(let isCellular, let isExpensive):
      complete(&judgement.verdict, isCellular: isCellular, isExpensive: isExpensive)
    case nil: break
    }
    return judgement
  }

  /// Adds what is known where nothing tells what carries the tunnel.
  @inline(never) private func complete(
    _ verdict: inout NetworkPath.Verdict, isCellular: Bool, isExpensive: Bool
  ) {
    guard let index = (verdict.ipv4 ?? verdict.ipv6)?.interfaceIndex, let tunnel = snapshot.interface(index) else {
      return
    }
    verdict.status = isCellular ? .wwan : .wifi
    verdict.medium = .other
    verdict.interfaceName = tunnel.kernelName
    verdict.interfaceIndex = index
    verdict.isExpensive = isExpensive
    verdict.vpn = VPN(
      kernelName: tunnel.kernelName, interfaceIndex: index, kind: tunnel.role.tunnelKind ?? .other,
      isCarrierKnown: false)
  }

  /// Adds what the links say to a verdict that is reachable.
  private func complete(_ verdict: inout NetworkPath.Verdict, over link: Int32) {
    guard let position = snapshot.position(of: link) else { return }
    // Piece by piece: a link is large to copy.
    let medium = snapshot.interfaces[position].medium
    verdict.status = ReachabilityStatus(of: medium)
    verdict.medium = medium
    verdict.interfaceName = snapshot.interfaces[position].kernelName
    verdict.interfaceIndex = link
    verdict.isExpensive = snapshot.interfaces[position].isExpensive
    if case .wifi = medium { verdict.ssid = snapshot.radio(below: link)?.wireless?.ssid }
    guard let index = (verdict.ipv4 ?? verdict.ipv6)?.interfaceIndex, index != link,
      let outer = snapshot.position(of: index), let kind = snapshot.interfaces[outer].role.tunnelKind
    else { return }
    verdict.vpn = VPN(kernelName: snapshot.interfaces[outer].kernelName, interfaceIndex: index, kind: kind)
  }

  // MARK: One family

  /// The first of a family's destinations that can be reached.
  private func judge(
    _ family: AddressFamily, _ answers: RouteAnswers, to all: Destinations, _ trail: inout EvaluationTrail
  ) -> Way {
    // As nearly always.
    if all.areStandIns { return judgeInternet(family, answers, &trail) }
    let destinations = all[family]
    if destinations.count == 1, trail.steps == nil { return judge(family, to: 0, answers, &trail) }
    var first: Way?
    for destination in destinations.indices {
      trail.note(.destination(destinations[destination]))
      let way = judge(family, to: Int8(clamping: destination), answers, &trail)
      trail.note(way.outcome)
      if case .failed = way {
        first = first ?? way
      } else {
        // Those that come after an open one are asked for together with it.
        if case .reachable = way, first != .open { return way }
        first = .open
      }
    }
    return first ?? .failed(.noRoute)
  }

  // MARK: One destination

  /// - Parameter other: also stands for the destination, over links that the kernel did not choose; nil for none.
  func judge(
    _ family: AddressFamily, to destination: Int8, orElse other: Int8? = nil, _ answers: RouteAnswers,
    _ trail: inout EvaluationTrail
  ) -> Way {
    let plain = RouteRequest(family, .plain, to: destination)
    guard let answer = answers[plain] else {
      trail.needs(plain)
      return .open
    }
    trail.note(.answer(plain, answer))
    guard case .hop(let hop) = answer else { return judge(answer, family) }
    return judge(hop, family, to: destination, orElse: other, answers, &trail)
  }

  /// The way over the hop that the kernel has chosen.
  func judge(
    _ hop: RouteHop, _ family: AddressFamily, to destination: Int8, orElse other: Int8?, _ answers: RouteAnswers,
    _ trail: inout EvaluationTrail
  ) -> Way {
    if !includesLink(hop.interfaceIndex) {
      trail.note(.excluded(link: hop.interfaceIndex))
      return judgeOthers(family, to: [destination] + (other.map { [$0] } ?? []), answers, &trail)
    }
    var way = judge(hop, family)
    if case .failed(.noAddress) = way { way = judgeSource(of: hop, way, family, to: destination, answers, &trail) }
    note(hop, way, &trail)
    switch way {
    case .open: return .open
    case .reachable: return isTunnel(hop) ? descend(way, hop, answers, &trail) : way
    case .failed: return judgeOtherHops(than: hop, way, family, to: destination, answers, &trail)
    }
  }

  /// A source that is on no link may belong to a `local` route of a whole prefix (AnyIP).
  @inline(never) private func judgeSource(
    of hop: RouteHop, _ way: Way, _ family: AddressFamily, to destination: Int8, _ answers: RouteAnswers,
    _ trail: inout EvaluationTrail
  ) -> Way {
    guard let source = hop.source, !snapshot.knows(source),
      source.isUsableSource(allowingLinkLocalIPv4: allowsLinkLocalIPv4)
    else { return way }
    let request = RouteRequest(family, .source, to: destination)
    guard let answer = answers[request] else {
      trail.needs(request)
      return .open
    }
    guard case .own = answer else { return way }
    return .reachable(
      .init(address: source, gateway: hop.gateway, interfaceIndex: hop.interfaceIndex), over: .link(hop.interfaceIndex))
  }

  /// The link of the kernel's choice is dead, and may be but one of several hops. Only a hop that works is better than the
  /// choice, whose fault is to be named.
  @inline(never) private func judgeOtherHops(
    than hop: RouteHop, _ way: Way, _ family: AddressFamily, to destination: Int8, _ answers: RouteAnswers,
    _ trail: inout EvaluationTrail
  ) -> Way {
    guard snapshot.position(of: hop.interfaceIndex) != nil else { return way }
    let allHops = RouteRequest(family, .allHops, to: destination)
    guard let hops = answers[allHops] else {
      trail.needs(allHops)
      return .open
    }
    guard case .hops(let others) = hops,
      let next = others.first(where: { includesLink($0.interfaceIndex) && judge($0, family).isReachable })
    else { return way }
    trail.note(.answer(allHops, .hop(next)))
    note(next, judge(next, family), &trail)
    return descend(judge(next, family), next, answers, &trail)
  }

  /// The best way over links that count, where the kernel's own choice does not.
  @inline(never) private func judgeOthers(
    _ family: AddressFamily, to destinations: [Int8], _ answers: RouteAnswers, _ trail: inout EvaluationTrail
  ) -> Way {
    let links = snapshot.interfaces.filter { includes($0) && mayHaveRoutes($0) }
    guard let (hops, destination) = hops(over: links, family, to: destinations, answers, &trail) else { return .open }
    if hops.isEmpty { trail.note(.noneInstead) }
    for hop in hops {
      let way = judge(hop, family)
      trail.note(.answer(RouteRequest(family, .link(hop.interfaceIndex), to: destination), .hop(hop)))
      note(hop, way, &trail)
      if way.isReachable { return descend(way, hop, answers, &trail) }
    }
    return hops.first.map { judge($0, family) } ?? .failed(.noRoute)
  }

  /// Without carrier too: a route over a link whose cable was pulled is still there, and tells what is wrong.
  func mayHaveRoutes(_ interface: Interface) -> Bool { interface.isAdministrativelyUp && !interface.isLoopback }

  /// The hops over single links, the best one first, to the first of the destinations that any of them leads to; nil if some
  /// have not been asked for. More than one destination are addresses that stand for the internet.
  func hops(
    over links: [Interface], _ family: AddressFamily, to destinations: [Int8], _ answers: RouteAnswers,
    _ trail: inout EvaluationTrail
  ) -> (hops: [RouteHop], destination: Int8)? {
    for destination in destinations {
      let requests = links.map { RouteRequest(family, .link($0.index), to: destination) }
      guard var hops = hops(to: requests, answers, &trail) else { return nil }
      if destinations.count > 1 { hops.removeAll(where: isOnLink) }
      if !hops.isEmpty || destination == destinations.last { return (hops, destination) }
    }
    return ([], 0)
  }

  private func hops(
    to requests: [RouteRequest], _ answers: RouteAnswers, _ trail: inout EvaluationTrail
  ) -> [RouteHop]? {
    var found: [RouteHop] = []
    var isComplete = true
    for request in requests {
      guard case .link(let index) = request.scope else { continue }
      switch answers[request] {
      case .hop(let hop): found.append(hop)
      // The route leads over other links too.
      case .hops(let hops): found += hops.filter { $0.interfaceIndex == index }
      case .noRoute, .refused, .own, .rules: break
      case nil:
        trail.needs(request)
        isComplete = false
      }
    }
    guard isComplete else { return nil }
    return found.sorted { ($0.metric, $0.interfaceIndex) < ($1.metric, $1.interfaceIndex) }
  }

  // MARK: One way

  /// The steps in which a hop was judged.
  func note(_ hop: RouteHop, _ way: Way, _ trail: inout EvaluationTrail) {
    guard trail.steps != nil else { return }
    let fault = fault(ofLink: hop.interfaceIndex)
    trail.note(.link(hop.interfaceIndex, fault: fault))
    if fault != nil { return }
    if case .reachable(let path, _) = way {
      trail.note(.source(path.address, isUsable: true, link: hop.interfaceIndex))
    } else {
      trail.note(.source(hop.source, isUsable: false, link: hop.interfaceIndex))
    }
  }

  /// The way over the first of the hops that carries; they are sorted by preference.
  func judge(_ answer: RouteAnswer, _ family: AddressFamily) -> Way {
    switch answer {
    case .noRoute, .rules: return .failed(.noRoute)
    case .refused, .own: return .failed(.routeUnreachable)
    case .hop(let hop): return judge(hop, family)
    case .hops(let hops):
      for hop in hops {
        let way = judge(hop, family)
        if way.isReachable { return way }
      }
      return hops.first.map { judge($0, family) } ?? .failed(.noRoute)
    }
  }

  /// Whatever the hop's link stands on.
  func judge(_ hop: RouteHop, _ family: AddressFamily) -> Way {
    if let fault = fault(ofLink: hop.interfaceIndex) { return .failed(fault) }
    guard let source = usableSource(of: hop, family) else { return .failed(.noAddress) }
    return .reachable(
      .init(address: source, gateway: hop.gateway, interfaceIndex: hop.interfaceIndex), over: .link(hop.interfaceIndex))
  }

  /// What keeps a link from carrying packets.
  package func fault(ofLink index: Int32) -> ReachabilityReason? {
    guard let position = snapshot.position(of: index) else { return .linkDown }
    // Field by field: to ask the link itself would copy it, and this is the way of every event.
    let flags = snapshot.interfaces[position].flags
    let state = snapshot.interfaces[position].operationalState
    guard flags & Interface.Flags.up != 0 else { return .linkDown }
    if flags & Interface.Flags.lowerUp != 0, case .dormant = state { return .dormant }
    guard Interface.isRunning(flags, state) else { return .noCarrier }
    if snapshot.interfaces[position].needsPorts, !snapshot.hasRunningPort(index) { return .noCarrier }
    if case .sink = snapshot.interfaces[position].role { return .routeUnreachable }
    return snapshot.standsOnIgnored(index) ? .noCarrier : nil
  }

  private func usableSource(of hop: RouteHop, _ family: AddressFamily) -> IPAddress? {
    if let source = hop.source {
      // It may sit on another link (unnumbered), but it has to exist: the kernel says ::1 or a link-local address while
      // the only global one is tentative, and names one that is being removed.
      return isUsable(source, on: hop.interfaceIndex) ? source : nil
    }
    guard let position = snapshot.position(of: hop.interfaceIndex) else { return nil }
    return usableSource(family, amongAddressesOf: position)
  }

  /// Where the kernel names no source, to a question for the route itself.
  @inline(never) private func usableSource(_ family: AddressFamily, amongAddressesOf position: InterfaceTable.Index)
    -> IPAddress?
  {
    var best: InterfaceAddress?
    for address in snapshot.interfaces[position].addresses
    where address.address.family == family && address.isUsable(allowingLinkLocalIPv4: allowsLinkLocalIPv4) {
      if best == nil || best?.isDeprecated == true && !address.isDeprecated { best = address }
    }
    return best?.address
  }

  /// Some link has the address, and it is usable.
  private func isUsable(_ address: IPAddress, on index: Int32) -> Bool {
    snapshot.hasAddress(on: index) {
      $0.address == address && $0.isUsable(allowingLinkLocalIPv4: allowsLinkLocalIPv4)
    }
  }

  package func includes(_ interface: Interface) -> Bool {
    !interface.isIgnored && (includesInterface?(interface.name) ?? true)
  }

  private func includesLink(_ index: Int32) -> Bool {
    guard includesInterface != nil || snapshot.hasIgnoredLinks, let position = snapshot.position(of: index) else {
      return true
    }
    return includes(snapshot.interfaces[position])
  }

  /// What the kernel can not mean: it answered before a change that it has already told of.
  func contradicts(_ answer: RouteAnswer) -> Bool {
    guard case .hop(let hop) = answer else { return false }
    guard let position = snapshot.position(of: hop.interfaceIndex),
      snapshot.interfaces[position].isAdministrativelyUp
    else { return true }
    guard let source = hop.source else { return false }
    return !snapshot.knows(source, on: hop.interfaceIndex)
  }

  // MARK: Why

  /// Why a path that was reachable is not any more: what took its link away comes first, then its tunnel.
  func lossReason(published: NetworkPath.Verdict, _ judgement: Judgement) -> ReachabilityReason {
    if judgement.failure == .unresolved { return .unresolved }
    guard let index = published.interfaceIndex else { return judgement.failure }
    let outer = published.vpn?.interfaceIndex ?? index
    if let fault = fault(ofLink: index) ?? fault(ofLink: outer) { return fault }
    guard let carrier = snapshot.position(of: index), let leaving = snapshot.position(of: outer),
      hasAddress(published, over: leaving), outer == index || hasUsableAddress(at: carrier)
    else { return .noAddress }
    return judgement.failure
  }

  private func hasUsableAddress(at position: InterfaceTable.Index) -> Bool {
    snapshot.interfaces[position].addresses.contains {
      $0.isUsable(allowingLinkLocalIPv4: allowsLinkLocalIPv4)
    }
  }

  private func hasAddress(_ published: NetworkPath.Verdict, over position: InterfaceTable.Index) -> Bool {
    // An unnumbered link borrows the address of another one.
    if let borrowed = published.ipv4?.address ?? published.ipv6?.address,
      isUsable(borrowed, on: snapshot.interfaces[position].index)
    {
      return true
    }
    return snapshot.interfaces[position].addresses.contains {
      $0.isUsable(allowingLinkLocalIPv4: allowsLinkLocalIPv4)
        && ($0.address.family == .ipv4 ? published.ipv4 != nil : published.ipv6 != nil)
    }
  }
}

extension PathEvaluator.Way {
  var outcome: EvaluationTrail.Step {
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
