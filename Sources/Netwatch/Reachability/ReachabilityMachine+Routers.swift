/// Routes that a router advertises end without a word, by their lifetime or with their router.
extension ReachabilityMachine {
  /// Routers whose entries in the kernel's table of neighbours decide which of several is used.
  package struct WatchedRouters: Hashable, Sendable {
    package var inUse: [Neighbour] = []
    package var dead: [Neighbour] = []
  }

  /// A little more than the kernel's own steps of time.
  package static let expirySlack = Duration.milliseconds(30)

  /// The IPv6 route in use, if a router has advertised it, and the destination that was asked about.
  func advertisedRoute(_ verdict: NetworkPath.Verdict) -> (hop: RouteHop, destination: Int8)? {
    guard let path = verdict.ipv6, let gateway = path.gateway else { return nil }
    for destination in destinations.ipv6.indices {
      let destination = Int8(clamping: destination)
      guard case .hop(let hop) = answers[RouteRequest(.ipv6, .plain, to: destination)],
        hop.origin == RouteHop.Origin.routerAdvertisement, hop.gateway == gateway,
        hop.interfaceIndex == path.interfaceIndex
      else { continue }
      return (hop, destination)
    }
    return nil
  }
}
