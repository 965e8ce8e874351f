/// The record of an evaluation: the questions that it could not answer, and its steps if they are wanted for an explanation.
package struct EvaluationTrace: Sendable {
  package enum Step: Hashable, Sendable {
    /// The following steps are about this destination.
    case destination(InternetAddress)
    /// The end of a destination: why it cannot be reached, or nil.
    case outcome(failure: ReachabilityReason?, link: Int32?)
    /// Another address stands for the internet, because of the kernel's answer about this one.
    case passedOver(InternetAddress, RouteAnswer)
    /// The kernel was asked and gave this answer.
    case answer(RouteQuery, RouteAnswer)
    /// The kernel was asked about the packets that a tunnel itself sends, and gave this answer.
    case answerBeneath(RouteQuery, RouteAnswer)
    /// The route's link does not count, by its name. The other links are asked.
    case excluded(link: Int32)
    /// None of the links that were asked instead has a route.
    case noneInstead
    /// The link of a way, and the fault that keeps it from carrying packets.
    case link(Int32, fault: ReachabilityReason?)
    /// The source of a way over a link. Nil if there is none.
    case source(InternetAddress?, isUsable: Bool, link: Int32)
    /// The link is a tunnel. The evidence tells how the link beneath is found.
    case tunnel(Int32, TunnelKind, Evidence)
    /// The links that could carry the tunnel if no route tells which one does.
    case candidates([Int32])
  }

  /// What is known about the packets that a tunnel itself sends.
  package enum Evidence: Hashable, Sendable {
    /// The kernel names the link.
    case link(Int32)
    /// The packets carry one of these marks, by the routing rules.
    case marks([UInt32])
    /// The packets go to this address.
    case remote(InternetAddress)
    /// The routes to single addresses, as VPN clients write one to their server, lead over these links.
    case hostRoutes([Int32])
    /// Nothing is known: the best link that is no tunnel is taken.
    case bestLink
    /// Nothing can be known: the tunnel was created in another network namespace and sends its packets there.
    case elsewhere
    /// The tunnel is this machine's end of 464XLAT, which IPv6 carries.
    case translation
    /// Nothing is known: the tunnel is the only way out of a container and has its other end in another namespace.
    case container
    /// The search has been at this tunnel before, or has gone too deep.
    case loop
  }

  /// The questions to ask before there is a verdict. Empty if the verdict is final.
  package private(set) var missing: [RouteQuery] = []
  /// The questions whose answers were looked at, in order.
  private(set) var used: [RouteQuery] = []
  /// Whether the way of a tunnel's own packets was asked for.
  var asksBeneathTunnel = false
  /// The routes to the servers of tunnels, by the index of each tunnel.
  var servers: [Int32: PathEvaluator.ServerRoutes] = [:]
  /// Whether routes to single addresses decide what carries a tunnel.
  var usesHostRoutes = false
  /// The steps. Nil unless they are wanted.
  package private(set) var steps: [Step]?

  package init(keepsSteps: Bool = false) {
    if keepsSteps { steps = [] }
    used.reserveCapacity(8)
  }

  /// Returns the kernel's answer to a question; nil if the question has to be asked.
  mutating func answer(to query: RouteQuery, _ answers: [RouteQuery: RouteAnswer]) -> RouteAnswer? {
    if let answer = answers[query] {
      used.append(query)
      return answer
    }
    if !missing.contains(query) { missing.append(query) }
    return nil
  }

  /// Records a step. The step is only computed if steps are wanted, because most evaluations are not explained.
  mutating func record(_ step: @autoclosure () -> Step) {
    if steps != nil { steps?.append(step()) }
  }
}
