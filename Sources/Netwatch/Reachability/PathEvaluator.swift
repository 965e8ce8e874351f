/// Turns facts and the kernel's answers into a verdict. Pure functions of a snapshot.
struct PathEvaluator {
  let snapshot: NetworkSnapshot
  let configuration: MonitorConfiguration

  /// What became of one family.
  enum FamilyVerdict: Hashable {
    case reachable(NetworkPath.FamilyPath)
    case failed(ReachabilityReason)
  }

  // MARK: One family

  /// The verdict over the first of the hops that carries; they are sorted by preference.
  func judge(_ answer: RouteAnswer, _ family: AddressFamily) -> FamilyVerdict {
    switch answer {
    case .noRoute: return .failed(.noRoute)
    case .refused: return .failed(.routeUnreachable)
    case .hop(let hop): return judge(hop, family)
    case .hops(let hops):
      var failure: ReachabilityReason = .noRoute
      for (position, hop) in hops.enumerated() {
        switch judge(hop, family) {
        case .reachable(let path): return .reachable(path)
        case .failed(let reason): if position == 0 { failure = reason }
        }
      }
      return .failed(failure)
    }
  }

  private func judge(_ hop: RouteHop, _ family: AddressFamily) -> FamilyVerdict {
    // By position, here and below: a link is large to copy, and this is the way of every event.
    guard let position = snapshot.position(of: hop.interfaceIndex) else { return .failed(.linkDown) }
    guard includes(snapshot.interfaces[position]) else { return .failed(.noRoute) }
    if let fault = linkFault(snapshot.interfaces[position]) { return .failed(fault) }
    guard let source = usableSource(of: hop, family, over: snapshot.interfaces[position]) else {
      return .failed(.noAddress)
    }
    return .reachable(.init(address: source, gateway: hop.gateway, interfaceIndex: hop.interfaceIndex))
  }

  /// What keeps a link from carrying packets, by S1.
  func linkFault(_ interface: Interface) -> ReachabilityReason? {
    guard interface.isAdministrativelyUp else { return .linkDown }
    if interface.hasCarrier, interface.operationalState == .dormant { return .dormant }
    return snapshot.interfaces.isUsable(interface) ? nil : .noCarrier
  }

  private func usableSource(of hop: RouteHop, _ family: AddressFamily, over interface: Interface) -> IPAddress? {
    let allowsLinkLocal = configuration.allowsLinkLocalIPv4
    if let source = hop.source {
      // It may sit on another link (unnumbered), but it has to exist: the kernel says ::1 or a link-local address while
      // the only global one is tentative, and names one that is being removed.
      return isUsable(source) ? source : nil
    }
    var best: InterfaceAddress?
    for address in interface.addresses
    where address.address.family == family && address.isUsable(allowingLinkLocalIPv4: allowsLinkLocal) {
      if best == nil || best?.isDeprecated == true && !address.isDeprecated { best = address }
    }
    return best?.address
  }

  /// Some link has the address, and it is usable.
  private func isUsable(_ address: IPAddress) -> Bool {
    snapshot.interfaces.contains {
      $0.addresses.contains {
        $0.address == address && $0.isUsable(allowingLinkLocalIPv4: configuration.allowsLinkLocalIPv4)
      }
    }
  }

  func includes(_ interface: Interface) -> Bool {
    configuration.includesInterface?(interface.name) ?? true
  }

  /// What the kernel can not mean: it answered before a change that it has already told of.
  func contradicts(_ answer: RouteAnswer) -> Bool {
    guard case .hop(let hop) = answer else { return false }
    guard let position = snapshot.position(of: hop.interfaceIndex),
      snapshot.interfaces[position].isAdministrativelyUp
    else { return true }
    return hop.source.map { !snapshot.knows($0) } ?? false
  }

  // MARK: Both families

  /// What the answers amount to.
  struct Judgement {
    var ipv4: FamilyVerdict?
    var ipv6: FamilyVerdict?
    var verdict = NetworkPath.Verdict.notReachable
  }

  func judge(_ answers: FamilyPair<RouteAnswer>, for families: AddressFamilies) -> Judgement {
    var judgement = Judgement()
    if families.contains(.ipv4) { judgement.ipv4 = judge(answers.ipv4, .ipv4) }
    if families.contains(.ipv6) { judgement.ipv6 = judge(answers.ipv6, .ipv6) }
    if case .reachable(let path) = judgement.ipv4 { judgement.verdict.ipv4 = path }
    if case .reachable(let path) = judgement.ipv6 { judgement.verdict.ipv6 = path }
    guard let path = judgement.verdict.ipv4 ?? judgement.verdict.ipv6,
      let interface = snapshot.interface(path.interfaceIndex)
    else { return judgement }
    judgement.verdict.status = ReachabilityStatus(of: interface.medium)
    judgement.verdict.medium = interface.medium
    judgement.verdict.interfaceName = interface.name
    judgement.verdict.interfaceIndex = interface.index
    judgement.verdict.isExpensive = interface.isExpensive
    return judgement
  }

  // MARK: Why

  /// Why a path that was reachable is not any more: what took its link away comes first.
  func lossReason(published: NetworkPath.Verdict, _ judgement: Judgement) -> ReachabilityReason {
    if let index = published.interfaceIndex {
      guard let interface = snapshot.interface(index) else { return .linkDown }
      if let fault = linkFault(interface) { return fault }
      // An unnumbered link borrows the address of another one.
      let borrowed = published.ipv4?.address ?? published.ipv6?.address
      let hasAddress =
        borrowed.map { isUsable($0) } == true
        || interface.addresses.contains {
          $0.isUsable(allowingLinkLocalIPv4: configuration.allowsLinkLocalIPv4)
            && (published.ipv4 != nil && $0.address.family == .ipv4
              || published.ipv6 != nil && $0.address.family == .ipv6)
        }
      if !hasAddress { return .noAddress }
    }
    return judgement.failureReason
  }
}

extension PathEvaluator.Judgement {
  /// Why nothing is reachable, from the families' own failures: the one that got furthest.
  var failureReason: ReachabilityReason {
    let (first, second) = (ipv4?.failure ?? .noRoute, ipv6?.failure ?? .noRoute)
    if first != .noRoute, first != .routeUnreachable { return first }
    return second == .noRoute ? first : second
  }
}

extension PathEvaluator.FamilyVerdict {
  var failure: ReachabilityReason? {
    if case .failed(let reason) = self { reason } else { nil }
  }
}
