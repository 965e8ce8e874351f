/// What is known of the routers in use. Pure: what the kernel tells of its neighbours goes in.
///
/// A router that has failed stays so until it is heard of again: when somebody sends through it, the kernel begins anew to
/// ask for it, which proves nothing.
struct GatewayHealth: Sendable {
  private struct Router {
    let neighbour: Neighbour
    var evidence = StageFinding.Evidence.neighbourUnresolved
    /// What was known before it failed in this turn; nil where it has not.
    var before: StageFinding.Evidence?
  }

  private var routers: [Router] = []

  /// Those that are not proven to be alive.
  var unproven: [Neighbour] { routers.filter { $0.evidence.state != .ok }.map(\.neighbour) }

  /// Nil where there is no router. One that is alive speaks for all, else one that may be: where IPv6 has a router that nobody ever
  /// reaches, IPv4 works, and idles.
  var finding: StageFinding? {
    let states: [StageFinding.State] = [.ok, .unknown, .failed]
    let first = states.lazy.compactMap { state in routers.first { $0.evidence.state == state } }.first
    return first.map { StageFinding($0.evidence, $0.neighbour.address) }
  }

  /// From now on these are in use; what is known of one that was before stays.
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
      // Somebody who deletes an entry lets it fail first, in the same breath; that says nothing of the router.
      if let before = routers[position].before { routers[position].evidence = before }
      if routers[position].evidence != .neighbourFailed { routers[position].evidence = .neighbourUnresolved }
      routers[position].before = nil
    case .stale: if !hasFailed { routers[position].evidence = .neighbourStale }
    case .incomplete: if !hasFailed { routers[position].evidence = .neighbourUnresolved }
    case .permanent: routers[position].evidence = .neighbourPermanent
    }
  }

  /// All that can be read for now was read.
  mutating func endTurn() { for position in routers.indices { routers[position].before = nil } }

  /// A router has refused a datagram, so it is alive.
  mutating func answer(_ neighbour: Neighbour) {
    guard let position = routers.firstIndex(where: { $0.neighbour == neighbour }) else { return }
    routers[position].evidence = .answered
  }
}
