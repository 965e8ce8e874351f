/// Turns facts and the kernel's answers into a verdict. If an answer is missing, reports which one.
package struct PathEvaluator: Sendable {
  /// The known links and addresses.
  package internal(set) var snapshot: NetworkSnapshot
  // Not the whole configuration, which is large: an evaluator is copied for each question to it.
  let includesInterface: (@Sendable (_ name: String) -> Bool)?
  let allowsLinkLocalIPv4: Bool
  /// The namespaces that this process does not share with the machine's first process, as in a container.
  let namespaces: OwnNamespaces

  init(configuration: MonitorConfiguration, namespaces: OwnNamespaces) {
    includesInterface = configuration.includesInterface
    allowsLinkLocalIPv4 = configuration.allowsLinkLocalIPv4
    self.namespaces = namespaces
    snapshot = NetworkSnapshot(NamedLinks(configuration))
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
    /// whether one of them may cost money.
    case unknown(isCellular: Bool, isExpensive: Bool)
  }

  /// The result of evaluating the answers.
  package struct Evaluation {
    package var verdict = NetworkPath.Verdict.notReachable
    /// The failure of the family whose way got furthest.
    package var failure = ReachabilityReason.noRoute
  }

  // MARK: Both families

  /// Evaluates the answers for both families.
  ///
  /// - Parameter trail: Gets the questions to ask before there is a verdict.
  package func evaluate(
    _ answers: RouteAnswers, to destinations: Destinations, _ trail: inout EvaluationTrail
  ) -> Evaluation {
    var evaluation = Evaluation()
    var carrier: Carrier?
    if !destinations.ipv4.isEmpty {
      switch evaluate(.ipv4, answers, to: destinations, &trail) {
      case .reachable(let path, let found):
        evaluation.verdict.ipv4 = path
        carrier = found
      case .failed(let failure): evaluation.failure = failure
      case .open: break
      }
    }
    if !destinations.ipv6.isEmpty {
      switch evaluate(.ipv6, answers, to: destinations, &trail) {
      case .reachable(let path, let found):
        evaluation.verdict.ipv6 = path
        if evaluation.verdict.ipv4 == nil { carrier = found }
      case .failed(let failure):
        let isFurther = evaluation.failure == .noRoute || evaluation.failure == .routeUnreachable
        if isFurther, failure != .noRoute { evaluation.failure = failure }
      case .open: break
      }
    }
    if destinations.isEmpty { evaluation.failure = .unresolved }
    switch carrier {
    case .link(let link): complete(&evaluation.verdict, over: link)
    case .unknown(let isCellular, let isExpensive):
      complete(&evaluation.verdict, isCellular: isCellular, isExpensive: isExpensive)
    case nil: break
    }
    return evaluation
  }

  /// Completes a verdict if nothing tells what carries the tunnel.
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

  /// Adds to a reachable verdict what is known of its link.
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

  /// Evaluates the destinations of a family: returns the first one that can be reached.
  private func evaluate(
    _ family: AddressFamily, _ answers: RouteAnswers, to all: Destinations, _ trail: inout EvaluationTrail
  ) -> RouteOutcome {
    // Nearly always the case.
    if all.areStandIns { return evaluateInternet(family, answers, &trail) }
    let destinations = all[family]
    if destinations.count == 1, trail.steps == nil { return evaluate(family, to: 0, answers, &trail) }
    var first: RouteOutcome?
    for destination in destinations.indices {
      trail.record(.destination(destinations[destination]))
      let outcome = evaluate(family, to: Int8(clamping: destination), answers, &trail)
      trail.record(outcome.step)
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

  /// Returns the positions in ``Destinations/internet`` of the addresses to ask for, in order.
  func standIns(_ family: AddressFamily) -> [Int8] {
    let (first, last) = (snapshot.standIn(family), Destinations.lastStandIn(family))
    return first == last ? [last] : [first, last]
  }

  /// Evaluates the way to the first address that stands for the internet and about which the kernel's answer tells something.
  func evaluateInternet(
    _ family: AddressFamily, _ answers: RouteAnswers, _ trail: inout EvaluationTrail
  ) -> RouteOutcome {
    let (first, last) = (snapshot.standIn(family), Destinations.lastStandIn(family))
    if trail.steps == nil {
      // Nearly always, the default route has a gateway, or there is none.
      switch answers[RouteRequest(family, .plain, to: first)] {
      case .hop(let hop)? where hop.gateway != nil:
        return evaluate(hop, family, to: first, orElse: first == last ? nil : last, answers, &trail)
      case .noRoute?:
        if case .noRoute? = answers[RouteRequest(family, .plain, to: last)] { return .failed(.noRoute) }
      default: break
      }
    }
    guard let decisive = decisiveStandIn(family, answers, &trail) else { return .open }
    let other = decisive == last ? nil : last
    guard trail.steps != nil else { return evaluate(family, to: decisive, orElse: other, answers, &trail) }
    let addresses = Destinations.internet[family]
    trail.record(.destination(addresses[Int(decisive)]))
    if decisive != first, let answer = answers[RouteRequest(family, .plain, to: first)] {
      trail.record(.passedOver(addresses[Int(first)], answer))
    }
    let outcome = evaluate(family, to: decisive, orElse: other, answers, &trail)
    trail.record(outcome.step)
    return outcome
  }

  /// Returns the position of the address whose answer counts. Nil if the kernel has to be asked.
  private func decisiveStandIn(
    _ family: AddressFamily, _ answers: RouteAnswers, _ trail: inout EvaluationTrail
  ) -> Int8? {
    let (first, last) = (snapshot.standIn(family), Destinations.lastStandIn(family))
    let plain = RouteRequest(family, .plain, to: first)
    guard let answer = answers[plain] else {
      trail.needs(plain)
      return nil
    }
    guard first != last else { return last }
    if case .hop(let hop) = answer {
      if hop.gateway != nil || isTunnel(hop) { return first }
      guard let isOnLink = isOnLink(family, first, answers, &trail) else { return nil }
      if !isOnLink { return first }
    }
    let request = RouteRequest(family, .plain, to: last)
    guard let other = answers[request] else {
      trail.needs(request)
      return nil
    }
    return other == answer ? first : last
  }

  /// Returns whether the route to one of ``Destinations/internet`` is that of a network on the link itself. Nil if the kernel
  /// has to be asked.
  @inline(never) private func isOnLink(
    _ family: AddressFamily, _ position: Int8, _ answers: RouteAnswers, _ trail: inout EvaluationTrail
  ) -> Bool? {
    let request = RouteRequest(family, .allHops, to: position)
    guard let route = answers[request] else {
      trail.needs(request)
      return nil
    }
    guard case .hop(let hop) = route else { return false }
    return isOnLink(hop)
  }

  /// Returns whether the route is about the link's own network and not about the internet.
  func isOnLink(_ hop: RouteHop) -> Bool {
    hop.isAutomatic && hop.gateway == nil && hop.prefixLength > Destinations.defaultPrefixLength && !isTunnel(hop)
  }
}

extension PathEvaluator.RouteOutcome {
  var step: EvaluationTrail.Step {
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
