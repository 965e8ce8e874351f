/// Turns facts and the kernel's answers into a verdict.
package struct PathEvaluator: Sendable {
  /// What is known of links and addresses.
  package internal(set) var snapshot = NetworkSnapshot()
  package let configuration: MonitorConfiguration

  init(configuration: MonitorConfiguration) { self.configuration = configuration }

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

  func judge(_ hop: RouteHop, _ family: AddressFamily) -> FamilyVerdict {
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
    var verdict = NetworkPath.Verdict.notReachable
    /// Of the families' own failures, the one that got furthest.
    var failure = ReachabilityReason.noRoute
  }

  func judge(_ answers: FamilyPair<RouteAnswer>, for families: AddressFamilies) -> Judgement {
    var judgement = Judgement()
    if families.contains(.ipv4) {
      switch judge(answers.ipv4, .ipv4) {
      case .reachable(let path): judgement.verdict.ipv4 = path
      case .failed(let failure): judgement.failure = failure
      }
    }
    if families.contains(.ipv6) {
      switch judge(answers.ipv6, .ipv6) {
      case .reachable(let path): judgement.verdict.ipv6 = path
      case .failed(let failure):
        let isFurther = judgement.failure == .noRoute || judgement.failure == .routeUnreachable
        if isFurther, failure != .noRoute { judgement.failure = failure }
      }
    }
    let verdict = judgement.verdict
    if let index = verdict.ipv4?.interfaceIndex ?? verdict.ipv6?.interfaceIndex,
      let position = snapshot.position(of: index)
    {
      judgement.verdict.leave(by: snapshot.interfaces[position])
    }
    return judgement
  }

  // MARK: Why

  /// Why a path that was reachable is not any more: what took its link away comes first.
  func lossReason(published: NetworkPath.Verdict, _ judgement: Judgement) -> ReachabilityReason {
    guard let index = published.interfaceIndex else { return judgement.failure }
    guard let position = snapshot.position(of: index) else { return .linkDown }
    if let fault = linkFault(snapshot.interfaces[position]) { return fault }
    return hasAddress(published, over: snapshot.interfaces[position]) ? judgement.failure : .noAddress
  }

  private func hasAddress(_ published: NetworkPath.Verdict, over interface: Interface) -> Bool {
    // An unnumbered link borrows the address of another one.
    if let borrowed = published.ipv4?.address ?? published.ipv6?.address, isUsable(borrowed) { return true }
    return interface.addresses.contains {
      $0.isUsable(allowingLinkLocalIPv4: configuration.allowsLinkLocalIPv4)
        && ($0.address.family == .ipv4 ? published.ipv4 != nil : published.ipv6 != nil)
    }
  }
}

extension NetworkPath.Verdict {
  /// Reachable, over this link.
  fileprivate mutating func leave(by interface: Interface) {
    status = ReachabilityStatus(of: interface.medium)
    medium = interface.medium
    interfaceName = interface.kernelName
    interfaceIndex = interface.index
    isExpensive = interface.isExpensive
  }
}
