import Netwatch

/// The states that a link is in most often, as flags and operational state.
package enum LinkState: CaseIterable, Sendable {
  /// Everything is there.
  case up
  /// Software links and modems do not say more than this when they work.
  case unknown
  /// Switched on, without the other end.
  case noCarrier
  /// Waiting for an authentication.
  case dormant
  /// Switched off.
  case down

  package var flags: UInt32 {
    switch self {
    case .up, .unknown: Interface.upFlag | Interface.runningFlag | Interface.lowerUpFlag
    case .noCarrier: Interface.upFlag
    case .dormant: Interface.upFlag | Interface.lowerUpFlag
    case .down: 0
    }
  }

  package var operationalState: OperationalState {
    switch self {
    case .up: .up
    case .unknown: .unknown
    case .noCarrier: .lowerLayerDown
    case .dormant: .dormant
    case .down: .down
    }
  }
}

extension InterfaceName: ExpressibleByStringLiteral {
  package init(stringLiteral text: String) { self.init(text) }
}

extension LinkUpdate {
  package init(
    _ index: Int32, _ name: String, _ state: LinkState = .up, kind: String? = nil, hardwareType: UInt16 = 1,
    master: Int32? = nil, lower: Int32? = nil, activePort: Int32? = nil, remote: IPAddress? = nil,
    device: DeviceTraits? = nil
  ) {
    self.init(index: index, flags: state.flags, hardwareType: hardwareType)
    isComplete = true
    self.name = InterfaceName(name)
    self.kind = kind
    operationalState = state.operationalState
    masterIndex = master
    lowerIndex = lower
    activePortIndex = activePort
    self.remote = remote
    self.device = device
  }
}

extension NetworkEvent {
  package static func link(
    _ index: Int32, _ name: String, _ state: LinkState = .up, kind: String? = nil, hardwareType: UInt16 = 1,
    master: Int32? = nil, lower: Int32? = nil, activePort: Int32? = nil, remote: IPAddress? = nil,
    device: DeviceTraits? = nil
  ) -> NetworkEvent {
    .link(
      LinkUpdate(
        index, name, state, kind: kind, hardwareType: hardwareType, master: master, lower: lower,
        activePort: activePort, remote: remote, device: device))
  }

  /// The loopback of every namespace.
  package static var loopback: NetworkEvent {
    var fact = LinkUpdate(1, "lo", .unknown, hardwareType: 772)
    fact.flags |= Interface.loopbackFlag
    return .link(fact)
  }

  package static func address(
    _ index: Int32, _ address: IPAddress, _ prefixLength: UInt8 = 24, flags: UInt32 = 0x80
  ) -> NetworkEvent {
    .address(index: index, InterfaceAddress(address: address, prefixLength: prefixLength, flags: flags))
  }

  package static func noAddress(_ index: Int32, _ address: IPAddress, _ prefixLength: UInt8 = 24) -> NetworkEvent {
    .addressRemoved(index: index, address, prefixLength: prefixLength)
  }
}

extension IPAddress {
  /// Text that is known to be an address; anything else is `::`.
  package static func ip(_ text: String) -> IPAddress { IPAddress(text) ?? .v6(0) }
}

extension RouteAnswer {
  package static func via(
    _ index: Int32, _ gateway: IPAddress?, from source: IPAddress?, metric: UInt32 = 0,
    table: UInt32 = RoutingRule.mainTable
  ) -> RouteAnswer {
    .hop(RouteHop(interfaceIndex: index, gateway: gateway, source: source, metric: metric, table: table))
  }
}

extension RouteRequest {
  package static let ipv4 = RouteRequest(.ipv4)
  package static let ipv6 = RouteRequest(.ipv6)

  /// To the DNS root server, where the first address that stands for the internet has no route.
  package static let ipv4Last = RouteRequest(.ipv4, to: 3)
  package static let ipv6Last = RouteRequest(.ipv6, to: 2)

  /// About what carries a tunnel.
  package static func beneath(_ family: AddressFamily, _ scope: Scope) -> RouteRequest {
    RouteRequest(family, scope, to: internet)
  }
}

extension MonitorConfiguration {
  /// A configuration that also publishes changes of links that carry nothing.
  package static var withInterfaces: MonitorConfiguration {
    var configuration = MonitorConfiguration()
    configuration.publishesInterfaceChanges = true
    return configuration
  }
}

extension ScriptedKernel {
  /// eth0, link 2, with 10.0.0.1 and a default route over 10.0.0.254, watched already.
  package static func online(_ configuration: MonitorConfiguration = .init()) -> ScriptedKernel {
    var kernel = ScriptedKernel(configuration)
    kernel.facts = [.loopback, .link(2, "eth0"), .address(2, .ip("10.0.0.1"))]
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
    kernel.start()
    return kernel
  }

  /// The same and 2001:db8:1::1 over fe80::1.
  package static func onlineTwice(_ configuration: MonitorConfiguration = .init()) -> ScriptedKernel {
    var kernel = ScriptedKernel(configuration)
    kernel.facts = [
      .loopback, .link(2, "eth0"), .address(2, .ip("10.0.0.1")), .address(2, .ip("2001:db8:1::1"), 64),
    ]
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
    kernel.answers[.ipv6] = .via(2, .ip("fe80::1"), from: .ip("2001:db8:1::1"))
    kernel.start()
    return kernel
  }
}
