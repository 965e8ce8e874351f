/// What an evaluation came by: the questions that it could not answer, and for those who want it explained, its steps.
package struct EvaluationTrail: Sendable {
  package enum Step: Hashable, Sendable {
    /// From here on it is about this one.
    case destination(IPAddress)
    /// The end of a destination: why it cannot be reached, or nil.
    case outcome(failure: ReachabilityReason?, link: Int32?)
    /// Another address stands for the internet, because of what the kernel says of this one.
    case passedOver(IPAddress, RouteAnswer)
    /// The kernel was asked, and said this.
    case answer(RouteRequest, RouteAnswer)
    /// The route's link does not count, by name; the others are asked.
    case excluded(link: Int32)
    /// None of the links that were asked instead has a route.
    case noneInstead
    /// The link of a way, and what keeps it from carrying packets.
    case link(Int32, fault: ReachabilityReason?)
    /// The source of a way over a link; nil where there is none.
    case source(IPAddress?, isUsable: Bool, link: Int32)
    /// The link is a tunnel, and how the one beneath is found.
    case tunnel(Int32, TunnelKind, Evidence)
    /// The links that could carry the tunnel, where no route tells which one does, and those of them with a route to a
    /// single address.
    case candidates([Int32], withHostRoute: [Int32])
  }

  /// What is known of the packets that a tunnel sends itself.
  package enum Evidence: Hashable, Sendable {
    /// The kernel names the link.
    case link(Int32)
    /// They carry one of these marks, by the rules.
    case marks([UInt32])
    /// They go to this address.
    case remote(IPAddress)
    /// Nothing: the best link that is no tunnel.
    case bestLink
    /// Nothing can be known: it was made in another network namespace, and sends its packets there.
    case elsewhere
    /// It is this machine's end of 464XLAT, which IPv6 carries.
    case translation
    /// Nothing: it is the only way out of a container, which has the other end in another namespace.
    case container
    /// It has led here before, or too many have.
    case loop
  }

  /// What to ask before there is a verdict; empty if this is it.
  package private(set) var missing: [RouteRequest] = []
  /// Routes to single addresses decide what carries a tunnel.
  package private(set) var usesHostRoutes = false
  /// Nil unless steps are wanted.
  package private(set) var steps: [Step]?

  package init(keepsSteps: Bool = false) {
    if keepsSteps { steps = [] }
  }

  mutating func needs(_ request: RouteRequest) { missing.append(request) }

  mutating func useHostRoutes() { usesHostRoutes = true }

  /// Not called for nothing: most evaluations are not explained.
  mutating func record(_ step: @autoclosure () -> Step) {
    if steps != nil { steps?.append(step()) }
  }
}
