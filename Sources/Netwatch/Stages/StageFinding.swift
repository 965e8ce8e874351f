/// What is known of one ``NetworkStage``, and how.
public struct StageFinding: Hashable, Sendable {
  public enum State: String, Hashable, Sendable, CaseIterable { case ok, failed, unknown }

  /// What a state was concluded from. Values may be added: give a `switch` a `default`.
  public enum Evidence: String, Hashable, Sendable, CaseIterable {
    /// A stage before this one fails, or nothing is known yet.
    case notExamined = "not_examined"

    // Of the link.
    case running
    /// The link is switched on, and its other end is not there.
    case noCarrier = "no_carrier"
    /// Each link is switched off.
    case linkDown = "link_down"
    /// There is no link but loopback.
    case noLink = "no_link"

    // Of the address.
    case configured
    case noAddress = "no_address"

    // Of the gateway, as the kernel's table of neighbours has it (NUD_* of <linux/neighbour.h>).
    /// The router was heard of within the kernel's reachable time, 15 to 45 s by default.
    case neighbourReachable = "neighbour_reachable"
    /// The router was there once. That says nothing of now.
    case neighbourStale = "neighbour_stale"
    /// The kernel has asked for the router in vain.
    case neighbourFailed = "neighbour_failed"
    /// The kernel has not asked for the router yet, or asks for it now.
    case neighbourUnresolved = "neighbour_unresolved"
    /// Somebody has written the entry by hand, so the kernel never checks it.
    case neighbourPermanent = "neighbour_permanent"
    /// A link such as a modem's or ppp has no table of neighbours.
    case noNeighbours = "no_neighbours"
    /// The route leads onto the link itself.
    case noGateway = "no_gateway"

    // Of the gateway and of name servers.
    /// No route leads out, or to any name server.
    case noRoute = "no_route"
    /// The router has refused a datagram, or a name server has answered.
    case answered

    // Of name servers.
    /// There is a route to a name server, and nobody has asked it.
    case routed
    /// The name server runs on this machine, and does not say whom it asks.
    case local
    /// None is configured.
    case noServer = "no_server"
    /// No name server has answered in time, or each has refused to.
    case noAnswer = "no_answer"

    // Of the internet, by a probe.
    case full
    /// Something in between answers in place of the internet: a login page, as in hotels.
    case portal
    case none
    case notProbed = "not_probed"
  }

  public let evidence: Evidence
  /// The address that the evidence is about: that of this machine, of the gateway or of a name server. Nil where it is about none.
  public let address: IPAddress?

  package init(_ evidence: Evidence, _ address: IPAddress? = nil) {
    self.evidence = evidence
    self.address = address
  }

  public var state: State { evidence.state }
  /// Not `==`, which would compare the raw values, as text.
  package var isFailed: Bool { if case .failed = state { true } else { false } }
  package var isOK: Bool { if case .ok = state { true } else { false } }
}

extension StageFinding.Evidence {
  /// What the evidence means for its stage.
  public var state: StageFinding.State {
    switch self {
    case .running, .configured, .neighbourReachable, .answered, .full: .ok
    case .noCarrier, .linkDown, .noLink, .noAddress, .neighbourFailed, .noRoute, .noAnswer, .portal, .none: .failed
    case .notExamined, .neighbourStale, .neighbourUnresolved, .neighbourPermanent, .noNeighbours, .noGateway, .routed,
      .local, .noServer, .notProbed:
      .unknown
    }
  }
}
