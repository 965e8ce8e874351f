/// Everything that a verdict was made of, for an explanation.
package struct PathExplanation: Sendable {
  /// The result of resolving a host's name.
  package struct Resolution: Sendable {
    package let addresses: [InternetAddress]
    /// The reason why the last lookup failed. Nil if it has not.
    package let problem: String?
    /// Whether a resolver has answered, even if the answer is that there is no address.
    package let isDefinite: Bool

    package init(addresses: [InternetAddress], problem: String?, isDefinite: Bool) {
      self.addresses = addresses
      self.problem = problem
      self.isDefinite = isDefinite
    }
  }

  package let target: NetworkTarget
  /// The result of resolving the host. Nil unless the target is a host.
  package let resolution: Resolution?
  package let steps: [EvaluationTrace.Step]
  package let verdict: NetworkPath.Verdict
  /// The reason why nothing can be reached, if the verdict is that nothing can be.
  package let failure: ReachabilityReason
  package let snapshot: NetworkSnapshot
  /// The links that count but cannot carry packets in their current state.
  package let deadLinks: [(index: Int32, fault: ReachabilityReason)]
  /// The link whose fault is the reason if no route is left and no link works.
  package let bestDeadLink: Int32?
  /// The routing rules of each family, in the order of their priority.
  package let rules: [AddressFamily: [RoutingRule]]
  /// The id of the user whose lookups these were.
  package let user: UInt32

  package init(
    of target: NetworkTarget, _ evaluator: PathEvaluator, _ answers: [RouteQuery: RouteAnswer],
    _ destinations: Destinations,
    _ rules: [AddressFamily: [RoutingRule]], resolution: Resolution? = nil
  ) {
    var trace = EvaluationTrace(keepsSteps: true)
    let evaluation = evaluator.evaluate(answers, to: destinations, &trace)
    self.target = target
    steps = trace.steps ?? []
    verdict = resolution.map { $0.addresses.isEmpty && !$0.isDefinite } ?? false ? .unknown : evaluation.verdict
    failure = evaluation.failure
    snapshot = evaluator.snapshot
    deadLinks = snapshot.interfaces.compactMap { interface in
      guard evaluator.includes(interface), !interface.isLoopback, interface.role.tunnelKind == nil else { return nil }
      return evaluator.fault(ofLink: interface.index).map { (interface.index, $0) }
    }
    bestDeadLink = evaluator.bestDeadLink?.index
    self.rules = rules
    user = evaluator.user
    self.resolution = resolution
  }

  /// Returns the rule that led a packet to a table. Nil if no such rule is known.
  package func rule(leadingTo table: UInt32, _ query: RouteQuery) -> RoutingRule? {
    let first = rules[query.family]?.first {
      $0.table == table && $0.suppressedPrefixLength == nil && $0.mayMatch(query, user)
    }
    return first?.hasOtherSelectors == true ? nil : first
  }

  /// Returns the rules that may have forbidden a packet its way.
  package func rules(forbidding query: RouteQuery) -> [RoutingRule] {
    (rules[query.family] ?? []).filter { $0.forbids && $0.mayMatch(query, user) }
  }
}

extension RoutingRule {
  /// Returns whether the rule may match, as far as its selectors can be judged.
  fileprivate func mayMatch(_ query: RouteQuery, _ user: UInt32) -> Bool {
    // A rule that is inverted as a whole may match or not.
    if hasOtherSelectors, isInverted { return true }
    let hasMark = query.mark & markMask == mark || mark == 0
    // Packets without a source come from 0.0.0.0, which is in no other network.
    let hasSource = source.map { source in query.source.map { source.contains($0) } ?? false } ?? true
    return (hasMark && hasSource && (users?.contains(user) ?? true)) != isInverted
  }
}
