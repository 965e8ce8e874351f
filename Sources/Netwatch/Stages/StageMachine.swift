/// Concludes from paths, neighbours, name servers and probes which stage of the way to the internet fails. Pure.
package struct StageMachine: Sendable {
  package enum Event: Sendable {
    /// The current path with all links, and the routers that its traffic goes through.
    case path(NetworkPath, gateways: [Neighbour])
    case neighbour(Neighbour, NeighbourState)
    /// Everything that can be read about neighbours for now was read.
    case neighboursWereRead
    /// A router has refused a datagram.
    case answered(Neighbour)
    case nameServers(StageFinding)
    /// The result of a probe. Nil if no probe is made.
    case internet(InternetAccess?)
  }

  package private(set) var stages = NetworkStages()
  private var gateways = GatewayHealth()
  private var path: NetworkPath?
  private var nameServers = StageFinding(.notExamined)
  private var internet: InternetAccess?
  /// The link that carried the traffic last.
  private var carrier: Int32?

  /// Decides by name over which links traffic may leave; nil for all.
  private let includes: (@Sendable (_ name: String) -> Bool)?

  /// - Parameter includes: Decides by name over which links traffic may leave. Default: nil, all.
  package init(includes: (@Sendable (_ name: String) -> Bool)? = nil) { self.includes = includes }

  /// The routers in use that nothing proves to be alive.
  package var unprovenGateways: [Neighbour] { gateways.unproven }

  /// Takes an event.
  ///
  /// - Returns: Whether the first stage that fails is another one than before.
  package mutating func handle(_ event: Event) -> Bool {
    switch event {
    case .path(let path, let neighbours):
      self.path = path
      carrier = path.interfaceIndex ?? carrier
      gateways.use(neighbours)
    case .neighbour(let neighbour, let state):
      gateways.hear(neighbour, state)
      return false
    case .neighboursWereRead: gateways.endTurn()
    case .answered(let neighbour): gateways.answer(neighbour)
    case .nameServers(let finding): nameServers = finding
    case .internet(let access): internet = access
    }
    let before = stages.failing
    stages = conclusion
    return stages.failing != before
  }

  private var conclusion: NetworkStages {
    guard let path, path.status != .unknown else { return NetworkStages() }
    guard path.isReachable else { return stages(withoutWay: path) }
    var stages = NetworkStages()
    stages.link = StageFinding(.running)
    stages.address = StageFinding(.configured, (path.ipv4 ?? path.ipv6)?.address)
    stages.gateway =
      path.interface?.hasNeighbours == false
      ? StageFinding(.noNeighbours) : gateways.finding ?? StageFinding(.noGateway)
    stages.dns = nameServers
    stages.internet = StageFinding(internet)
    return stages
  }

  /// Returns the findings if no route leads out. The links tell why.
  private func stages(withoutWay path: NetworkPath) -> NetworkStages {
    var stages = NetworkStages()
    let links = path.outwardLinks(including: includes, orElse: carrier)
    let running = links.filter { path.links.isUsable($0) }
    guard !running.isEmpty else {
      let isUp = links.contains { $0.isAdministrativelyUp }
      stages.link = StageFinding(links.isEmpty ? .noLink : isUp ? .noCarrier : .linkDown)
      return stages
    }
    stages.link = StageFinding(.running)
    guard let link = running.first(where: { path.status(of: $0) != .notReachable }) else {
      stages.address = StageFinding(.noAddress)
      return stages
    }
    stages.address = StageFinding(.configured, path.usableAddress(of: link))
    stages.gateway = StageFinding(.noRoute)
    return stages
  }
}

extension NetworkPath {
  /// Returns the links that lead out of the machine, and one more. If there are none, as in a container, returns all others.
  ///
  /// - Parameters:
  ///   - includes: Decides by name over which links traffic may leave; nil for all.
  ///   - carrier: The index of the link that carried the traffic last.
  func outwardLinks(including includes: ((_ name: String) -> Bool)?, orElse carrier: Int32?) -> [Interface] {
    // The links beneath an included tunnel may have any name.
    let mayBeBeneath = links.contains { $0.role.tunnelKind != nil && includes?($0.name) == true }
    let others = links.filter { link in
      !link.isLoopback && !link.isIgnored && link.role.tunnelKind == nil && link.role != .sink
        && (mayBeBeneath || includes?(link.name) ?? true)
    }
    let outward = others.filter { link in
      switch link.medium {
      case .wired, .wifi, .wwan, .bluetooth: true
      case .virtual, .other: link.index == carrier
      }
    }
    return outward.isEmpty ? others : outward
  }

  /// Returns the links that could carry the traffic: the one that does, and those that lead out of the machine and are no port of another
  /// one. If no link leads out, as in a container, returns all others.
  ///
  /// - Parameter includes: Decides by name over which links traffic may leave; nil for all.
  package func possibleUplinks(including includes: ((_ name: String) -> Bool)?) -> [Interface] {
    let outward = outwardLinks(including: includes, orElse: nil).filter { link in
      !link.isMadeByKernel && link.masterIndex.flatMap(links.interface)?.needsPorts != true
    }
    guard let interface, !outward.contains(where: { $0.index == interface.index }) else { return outward }
    return [interface] + outward
  }
}

extension StageFinding {
  /// Creates the finding about the internet; nil if it was not probed.
  init(_ internet: InternetAccess?) {
    switch internet {
    case .full: self.init(.full)
    case .portal: self.init(.portal)
    // A bare `none` would be the absence of a value.
    case .absent: self.init(Evidence.none)
    case .unknown, nil: self.init(.notProbed)
    }
  }
}

extension Interface {
  /// Whether the link has a table of neighbours: IFF_NOARP of <linux/if.h> is not set.
  var hasNeighbours: Bool { flags & 1 << 7 == 0 }
}
