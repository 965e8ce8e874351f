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
    guard let interface = snapshot.interface(hop.interfaceIndex) else { return .failed(.linkDown) }
    guard includes(interface) else { return .failed(.noRoute) }
    if let fault = linkFault(interface) { return .failed(fault) }
    guard let source = usableSource(of: hop, family, over: interface) else { return .failed(.noAddress) }
    return .reachable(.init(address: source, gateway: hop.gateway, interfaceIndex: interface.index))
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
      let isUsable = snapshot.interfaces.contains {
        $0.addresses.contains { $0.address == source && $0.isUsable(allowingLinkLocalIPv4: allowsLinkLocal) }
      }
      return isUsable ? source : nil
    }
    var best: InterfaceAddress?
    for address in interface.addresses
    where address.address.family == family && address.isUsable(allowingLinkLocalIPv4: allowsLinkLocal) {
      if best == nil || best?.isDeprecated == true && !address.isDeprecated { best = address }
    }
    return best?.address
  }

  func includes(_ interface: Interface) -> Bool {
    configuration.includesInterface?(interface.name) ?? true
  }

  /// What the kernel can not mean: it answered before a change that it has already told of.
  func contradicts(_ answer: RouteAnswer) -> Bool {
    guard case .hop(let hop) = answer else { return false }
    guard let interface = snapshot.interface(hop.interfaceIndex), interface.isAdministrativelyUp else { return true }
    return hop.source.map { !snapshot.knows($0) } ?? false
  }

  // MARK: Both families

  func combine(ipv4: FamilyVerdict?, ipv6: FamilyVerdict?) -> NetworkPath.Verdict {
    var verdict = NetworkPath.Verdict.notReachable
    if case .reachable(let path) = ipv4 { verdict.ipv4 = path }
    if case .reachable(let path) = ipv6 { verdict.ipv6 = path }
    guard let path = verdict.ipv4 ?? verdict.ipv6, let interface = snapshot.interface(path.interfaceIndex) else {
      return verdict
    }
    verdict.status = ReachabilityStatus(of: interface.medium)
    verdict.medium = interface.medium
    verdict.interfaceName = interface.name
    verdict.interfaceIndex = interface.index
    verdict.isExpensive = interface.isExpensive
    return verdict
  }

  // MARK: Why

  /// Why a path that was reachable is not any more: what took its link away comes first.
  func lossReason(
    published: NetworkPath.Verdict, ipv4: FamilyVerdict?, ipv6: FamilyVerdict?
  ) -> ReachabilityReason {
    if let index = published.interfaceIndex {
      guard let interface = snapshot.interface(index) else { return .linkDown }
      if let fault = linkFault(interface) { return fault }
      let hasAddress = interface.addresses.contains {
        $0.isUsable(allowingLinkLocalIPv4: configuration.allowsLinkLocalIPv4)
          && (published.ipv4 != nil && $0.address.family == .ipv4
            || published.ipv6 != nil && $0.address.family == .ipv6)
      }
      if !hasAddress { return .noAddress }
    }
    return failureReason(ipv4: ipv4, ipv6: ipv6)
  }

  /// Why nothing is reachable, from the families' own failures: the one that got furthest.
  func failureReason(ipv4: FamilyVerdict?, ipv6: FamilyVerdict?) -> ReachabilityReason {
    var reasons: [ReachabilityReason] = []
    if case .failed(let reason) = ipv4 { reasons.append(reason) }
    if case .failed(let reason) = ipv6 { reasons.append(reason) }
    return reasons.first { $0 != .noRoute && $0 != .routeUnreachable }
      ?? reasons.first { $0 == .routeUnreachable } ?? .noRoute
  }
}
