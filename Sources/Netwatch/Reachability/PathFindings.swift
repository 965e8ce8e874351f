/// Everything that a verdict was made of, for those who want to know why.
package struct PathFindings: Sendable {
  /// What a host's name has led to.
  package struct Resolution: Sendable {
    package let addresses: [IPAddress]
    /// Why the last lookup failed; nil where it has not.
    package let problem: String?
    /// Somebody has answered, though it be that there is no address.
    package let isDefinite: Bool

    package init(addresses: [IPAddress], problem: String?, isDefinite: Bool) {
      self.addresses = addresses
      self.problem = problem
      self.isDefinite = isDefinite
    }
  }

  package let target: NetworkTarget
  /// Nil unless the target is a host.
  package let resolution: Resolution?
  package let steps: [EvaluationTrail.Step]
  package let verdict: NetworkPath.Verdict
  /// Why nothing can be reached, where the verdict says so.
  package let failure: ReachabilityReason
  package let snapshot: NetworkSnapshot
  /// The links that count and can carry nothing as they are.
  package let deadLinks: [(index: Int32, fault: ReachabilityReason)]
  /// In the order of their priority.
  package let rules: [AddressFamily: [RoutingRule]]
  /// Whose lookups they were.
  package let user: UInt32

  package init(
    of target: NetworkTarget, _ evaluator: PathEvaluator, _ answers: RouteAnswers, _ destinations: Destinations,
    _ rules: [AddressFamily: [RoutingRule]], user: UInt32,
    resolution: Resolution? = nil
  ) {
    var trail = EvaluationTrail(keepsSteps: true)
    let evaluation = evaluator.evaluate(answers, to: destinations, &trail)
    self.target = target
    steps = trail.steps ?? []
    verdict = resolution.map { $0.addresses.isEmpty && !$0.isDefinite } ?? false ? .unknown : evaluation.verdict
    failure = evaluation.failure
    snapshot = evaluator.snapshot
    deadLinks = snapshot.interfaces.compactMap { interface in
      guard evaluator.includes(interface), !interface.isLoopback, interface.role.tunnelKind == nil else { return nil }
      return evaluator.fault(ofLink: interface.index).map { (interface.index, $0) }
    }
    self.rules = rules
    self.user = user
    self.resolution = resolution
  }

  /// The rule that led a packet to a table; nil where none is known that does.
  package func rule(leadingTo table: UInt32, mark: UInt32, _ family: AddressFamily) -> RoutingRule? {
    let first = rules[family]?.first {
      $0.table == table && $0.suppressedPrefixLength == nil && $0.mayMatch(mark: mark, user: user)
    }
    return first?.hasOtherSelectors == true ? nil : first
  }

  /// The rules that may have forbidden a packet its way.
  package func rules(forbidding mark: UInt32, _ family: AddressFamily) -> [RoutingRule] {
    (rules[family] ?? []).filter { $0.forbids && $0.mayMatch(mark: mark, user: user) }
  }
}

extension RoutingRule {
  /// As far as we can judge.
  fileprivate func mayMatch(mark: UInt32, user: UInt32) -> Bool {
    // What is inverted as a whole may go either way.
    if hasOtherSelectors, isInverted { return true }
    let isSelected = mark & markMask == self.mark || self.mark == 0
    return (isSelected && (users?.contains(user) ?? true)) != isInverted
  }
}
