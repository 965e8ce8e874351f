/// What is known of the routers in use. Pure: what the kernel reports about its neighbours goes in.
///
/// A router that has failed stays failed until it is heard from again. If somebody sends through it, the kernel asks for it
/// anew, which proves nothing.
struct GatewayHealth: Sendable {
  private struct Router {
    let neighbour: Neighbour
    var evidence = StageFinding.Evidence.neighbourUnresolved
    /// The evidence before the router failed in this turn. Nil if it has not failed in this turn.
    var before: StageFinding.Evidence?
  }

  private var routers: [Router] = []

  /// The routers that are not proven to be alive.
  var unproven: [Neighbour] { routers.filter { $0.evidence.state != .ok }.map(\.neighbour) }

  /// The finding about all routers; nil if there is none.
  ///
  /// A router that is alive counts first, then one that may be alive. If IPv6 has a router that nobody ever reaches, IPv4 may
  /// still work and just be idle.
  var finding: StageFinding? {
    let states: [StageFinding.State] = [.ok, .unknown, .failed]
    let first = states.lazy.compactMap { state in routers.first { $0.evidence.state == state } }.first
    return first.map { StageFinding($0.evidence, $0.neighbour.address) }
  }

  /// Sets the routers in use. What is known of a router that was already in use stays.
  mutating func use(_ neighbours: [Neighbour]) {
    let former = routers
    routers = neighbours.map { neighbour in
      former.first { $0.neighbour == neighbour } ?? Router(neighbour: neighbour)
    }
  }

  mutating func hear(_ neighbour: Neighbour, _ state: NeighbourState) {
    guard let position = routers.firstIndex(where: { $0.neighbour == neighbour }) else { return }
    let former = routers[position].evidence
    let hasFailed = former == .neighbourFailed
    switch state {
    case .reachable: routers[position].evidence = .neighbourReachable
    case .failed:
      routers[position].evidence = .neighbourFailed
      if !hasFailed { routers[position].before = former }
    case .absent:
      // A program that deletes an entry makes it fail first, in the same turn. This tells nothing about the router.
      if let before = routers[position].before { routers[position].evidence = before }
      if routers[position].evidence != .neighbourFailed { routers[position].evidence = .neighbourUnresolved }
      routers[position].before = nil
    case .stale: if !hasFailed { routers[position].evidence = .neighbourStale }
    case .incomplete: if !hasFailed { routers[position].evidence = .neighbourUnresolved }
    case .permanent: routers[position].evidence = .neighbourPermanent
    }
  }

  /// Ends a turn: everything that can be read for now was read.
  mutating func endTurn() { for position in routers.indices { routers[position].before = nil } }

  /// Notes that a router has refused a datagram, so it is alive.
  mutating func answer(_ neighbour: Neighbour) {
    guard let position = routers.firstIndex(where: { $0.neighbour == neighbour }) else { return }
    routers[position].evidence = .answered
  }
}
