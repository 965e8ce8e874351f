extension Uplink {
  /// What the kernel knows of the ways over a link.
  package struct Ways {
    /// The routes to the internet over the link, and whether each has a router.
    package var hasRoute = false
    package var routers: [Neighbour] = []
    /// The states of the routers in the table of neighbours.
    package var states: [(Neighbour, NeighbourState)] = []

    package init() {}
  }

  /// Judges a link of a path.
  ///
  /// - Parameter ways: Returns what the kernel knows of the ways over the link. It is called only if the link can carry packets and has an
  ///   address.
  package init(_ link: Interface, of path: NetworkPath, ways: () -> Ways) {
    var stages = NetworkStages()
    if !path.links.isUsable(link) {
      stages.link = StageFinding(link.isAdministrativelyUp ? .noCarrier : .linkDown)
    } else {
      stages.link = StageFinding(.running)
      if let address = path.usableAddress(of: link) {
        stages.address = StageFinding(.configured, address)
        stages.gateway = Self.gateway(of: link, ways())
      } else {
        stages.address = StageFinding(.noAddress)
      }
    }
    self.init(
      interfaceIndex: link.index, kernelName: link.kernelName, medium: link.medium,
      isInUse: path.carriers.contains { $0.index == link.index }, stages: stages)
  }

  private static func gateway(of link: Interface, _ ways: Ways) -> StageFinding {
    guard ways.hasRoute else { return StageFinding(.noRoute) }
    guard link.hasNeighbours else { return StageFinding(.noNeighbours) }
    var routers = GatewayHealth()
    routers.use(ways.routers)
    for (router, state) in ways.states { routers.hear(router, state) }
    return routers.finding ?? StageFinding(.noGateway)
  }
}
