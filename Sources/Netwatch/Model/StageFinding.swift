/// The finding about one ``NetworkStage``: its state, and the evidence for it.
public struct StageFinding: Hashable, Sendable {
  /// The state of a stage: it works (`ok`), it fails (`failed`), or nothing is known (`unknown`).
  public enum State: String, Hashable, Sendable, CaseIterable { case ok, failed, unknown }

  /// The evidence for the state of a stage. Later versions can add values, so give a `switch` a `default`.
  public enum Evidence: String, Hashable, Sendable, CaseIterable {
    /// The stage was not examined, because an earlier one makes that impossible, or nothing is known yet.
    case notExamined = "not_examined"

    // About the link.
    /// Link: a link is switched on, and its other end is there.
    case running
    /// Link: a link is switched on, but its other end is not there.
    case noCarrier = "no_carrier"
    /// Link: all links are switched off.
    case linkDown = "link_down"
    /// Link: there is no link except the loopback.
    case noLink = "no_link"

    // About the address.
    /// Address: the link has an address that traffic can come from.
    case configured
    /// Address: the link has no address that traffic can come from.
    case noAddress = "no_address"

    // About the gateway, by the kernel's table of neighbours (NUD_* of <linux/neighbour.h>).
    /// Gateway: the router was heard from within the kernel's reachable time, 15 to 45 s by default.
    case neighbourReachable = "neighbour_reachable"
    /// Gateway: the router was there once. This tells nothing about now.
    case neighbourStale = "neighbour_stale"
    /// Gateway: the kernel has asked for the router, and it has not answered.
    case neighbourFailed = "neighbour_failed"
    /// Gateway: the kernel has not asked for the router yet, or is asking now.
    case neighbourUnresolved = "neighbour_unresolved"
    /// Gateway: the router has a fixed entry in the table, so the kernel never checks it.
    case neighbourPermanent = "neighbour_permanent"
    /// Gateway: the link has no table of neighbours, such as that of a modem or ppp.
    case noNeighbours = "no_neighbours"
    /// Gateway: the route leads onto the link itself.
    case noGateway = "no_gateway"

    // About the gateway and the name servers.
    /// Gateway: no route leads out. Name servers: no route leads to any of them.
    case noRoute = "no_route"
    /// Gateway: the router has refused a datagram, so it is alive. Name servers: one of them has answered.
    case answered

    // About the name servers.
    /// Name servers: there is a route to a name server, but nobody has asked it.
    case routed
    /// Name servers: the name server runs on this machine and does not reveal which servers it asks.
    case local
    /// Name servers: none is configured.
    case noServer = "no_server"
    /// Name servers: none has answered in time, or each has refused to.
    case noAnswer = "no_answer"
    /// Name servers: the resolver on this machine, systemd-resolved, does not run or has no answer, though a server that it asks has one.
    case resolverFailed = "resolver_failed"
    /// Name servers: the resolver on this machine asks by DNS over TLS only and has no answer, though a server that it asks has one by
    /// plain DNS.
    case tlsFailed = "tls_failed"

    // About the internet, by a probe.
    /// Internet: a probe has got the expected answer.
    case full
    /// Internet: something between this machine and the internet answers instead: a captive portal, as in hotels.
    case portal
    /// Internet: a probe has got no answer.
    case none
    /// Internet: no probe was made, or its answer proves nothing.
    case notProbed = "not_probed"
  }

  /// The evidence for the state.
  public let evidence: Evidence
  /// The address that the evidence is about: that of this machine, of the gateway or of a name server. Nil if it is about
  /// none.
  public let address: InternetAddress?

  package init(_ evidence: Evidence, _ address: InternetAddress? = nil) {
    self.evidence = evidence
    self.address = address
  }

  /// The state of the stage, by its evidence.
  public var state: State { evidence.state }
  /// Whether the state is `failed`. Not `==`, which would compare the raw values as text.
  package var isFailed: Bool { if case .failed = state { true } else { false } }
  package var isOK: Bool { if case .ok = state { true } else { false } }
}

extension StageFinding: CustomStringConvertible {
  /// The state and its evidence, such as `failed (neighbour failed 10.0.0.254)`.
  public var description: String {
    "\(state) (\(evidence.rawValue.words)\(address.map { " \($0)" } ?? ""))"
  }
}

extension StageFinding.Evidence {
  /// The state that this evidence means for its stage.
  public var state: StageFinding.State {
    switch self {
    case .running, .configured, .neighbourReachable, .answered, .full: .ok
    case .noCarrier, .linkDown, .noLink, .noAddress, .neighbourFailed, .noRoute, .noAnswer, .resolverFailed, .tlsFailed,
      .portal, .none:
      .failed
    case .notExamined, .neighbourStale, .neighbourUnresolved, .neighbourPermanent, .noNeighbours, .noGateway, .routed,
      .local, .noServer, .notProbed:
      .unknown
    }
  }
}
