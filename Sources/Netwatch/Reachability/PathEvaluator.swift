/// Turns facts and the kernel's answers into a verdict. If an answer is missing, reports which one.
package struct PathEvaluator: Sendable {
  /// The known links and addresses.
  package internal(set) var snapshot: NetworkSnapshot
  let includesInterface: (@Sendable (_ name: String) -> Bool)?
  let allowsLinkLocalIPv4: Bool
  /// The namespaces that this process does not share with the machine's first process, as in a container.
  let namespaces: OwnNamespaces
  /// The id of the user whose packets reach the target.
  let user: UInt32
  /// The TCP port of the target; nil for none.
  let port: UInt16?

  init(configuration: MonitorConfiguration, namespaces: OwnNamespaces, user: UInt32) {
    includesInterface = configuration.includesInterface
    allowsLinkLocalIPv4 = configuration.allowsLinkLocalIPv4
    port = configuration.target.port
    self.namespaces = namespaces
    self.user = user
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
    _ answers: [RouteQuery: RouteAnswer], to destinations: Destinations, _ trail: inout EvaluationTrail
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
  private func complete(
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
  private func complete(_ verdict: inout NetworkPath.Verdict, over index: Int32) {
    guard let link = snapshot.interface(index) else { return }
    verdict.status = ReachabilityStatus(of: link.medium)
    verdict.medium = link.medium
    verdict.interfaceName = link.kernelName
    verdict.interfaceIndex = index
    verdict.isExpensive = link.isExpensive
    if link.medium == .wifi { verdict.ssid = snapshot.radio(below: index)?.wireless?.ssid }
    guard let outer = (verdict.ipv4 ?? verdict.ipv6)?.interfaceIndex, outer != index,
      let tunnel = snapshot.interface(outer), let kind = tunnel.role.tunnelKind
    else { return }
    verdict.vpn = VPN(kernelName: tunnel.kernelName, interfaceIndex: outer, kind: kind)
  }

  // MARK: One family

  /// Returns the question for the way of this user's packets to an address.
  func query(_ destination: IPAddress) -> RouteQuery { RouteQuery(destination, user: user, port: port) }

  /// Evaluates the destinations of a family: returns the first one that can be reached.
  private func evaluate(
    _ family: AddressFamily, _ answers: [RouteQuery: RouteAnswer], to all: Destinations, _ trail: inout EvaluationTrail
  ) -> RouteOutcome {
    if all.isInternet { return evaluateInternet(family, answers, &trail) }
    var first: RouteOutcome?
    for destination in all[family] {
      trail.record(.destination(destination))
      let outcome = evaluate(query(destination), answers, &trail)
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

  /// Returns the addresses to ask for, in order.
  func standIns(_ family: AddressFamily) -> [IPAddress] {
    let (first, last) = (snapshot.standIn(family), Destinations.fallback(family))
    return first == last ? [last] : [first, last]
  }

  /// Evaluates the way to the first address that stands for the internet and about which the kernel's answer tells something.
  private func evaluateInternet(
    _ family: AddressFamily, _ answers: [RouteQuery: RouteAnswer], _ trail: inout EvaluationTrail
  ) -> RouteOutcome {
    guard let decisive = decisiveStandIn(family, answers, &trail) else { return .open }
    let (first, last) = (snapshot.standIn(family), Destinations.fallback(family))
    trail.record(.destination(decisive))
    if decisive != first, let answer = answers[query(first)] { trail.record(.passedOver(first, answer)) }
    let outcome = evaluate(query(decisive), orElse: decisive == last ? nil : query(last), answers, &trail)
    trail.record(outcome.step)
    return outcome
  }

  /// Returns the address whose answer counts. Nil if the kernel has to be asked.
  private func decisiveStandIn(
    _ family: AddressFamily, _ answers: [RouteQuery: RouteAnswer], _ trail: inout EvaluationTrail
  ) -> IPAddress? {
    let (first, last) = (snapshot.standIn(family), Destinations.fallback(family))
    guard let answer = trail.answer(to: query(first), answers) else { return nil }
    guard first != last else { return last }
    if case .hop(let hop) = answer {
      if hop.gateway != nil || isTunnel(hop) { return first }
      // The route to the address may be that of a network on the link itself.
      guard let route = trail.answer(to: query(first).asking(.route), answers) else { return nil }
      guard case .hop(let hop) = route, isOnLink(hop) else { return first }
    }
    guard let other = trail.answer(to: query(last), answers) else { return nil }
    return other == answer ? first : last
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
