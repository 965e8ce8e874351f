import Netwatch

/// The most frequent states of a link, each as flags and an operational state.
package enum LinkState: CaseIterable, Sendable {
  /// The link is switched on, and has carrier.
  case up
  /// The link is switched on and has carrier, and its driver reports no operational state, as software links and modems
  /// do.
  case unknown
  /// The link is switched on, and has no carrier.
  case noCarrier
  /// The link has carrier, and waits for an authentication.
  case dormant
  /// The link is switched off.
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
    master: Int32? = nil, lower: Int32? = nil, activePort: Int32? = nil, remote: InternetAddress? = nil,
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
    master: Int32? = nil, lower: Int32? = nil, activePort: Int32? = nil, remote: InternetAddress? = nil,
    device: DeviceTraits? = nil
  ) -> NetworkEvent {
    .link(
      LinkUpdate(
        index, name, state, kind: kind, hardwareType: hardwareType, master: master, lower: lower,
        activePort: activePort, remote: remote, device: device))
  }

  /// The loopback link that each network namespace has: `lo`, link 1.
  package static var loopback: NetworkEvent {
    var fact = LinkUpdate(1, "lo", .unknown, hardwareType: 772)
    fact.flags |= Interface.loopbackFlag
    return .link(fact)
  }

  package static func address(
    _ index: Int32, _ address: InternetAddress, _ prefixLength: UInt8 = 24, flags: UInt32 = 0x80
  ) -> NetworkEvent {
    .address(index: index, InterfaceAddress(address: address, prefixLength: prefixLength, flags: flags))
  }

  package static func noAddress(_ index: Int32, _ address: InternetAddress, _ prefixLength: UInt8 = 24) -> NetworkEvent
  {
    .addressRemoved(index: index, address, prefixLength: prefixLength)
  }
}

extension InternetAddress {
  /// Returns the address that a text stands for, or `::` if the text is no address.
  package static func ip(_ text: String) -> InternetAddress { InternetAddress(text) ?? .v6(0) }
}

extension RouteAnswer {
  package static func via(
    _ index: Int32, _ gateway: InternetAddress?, from source: InternetAddress?, metric: UInt32 = 0,
    table: UInt32 = RoutingRule.mainTable
  ) -> RouteAnswer {
    .hop(RouteHop(interfaceIndex: index, gateway: gateway, source: source, metric: metric, table: table))
  }
}

extension RouteRequest {
  package static let ipv4 = RouteRequest(.ipv4)
  package static let ipv6 = RouteRequest(.ipv6)

  /// The question for the way to the DNS root server. This is the last probe address; it is used if the first one has
  /// no route.
  package static let ipv4Last = RouteRequest(.ipv4, to: 3)
  package static let ipv6Last = RouteRequest(.ipv6, to: 2)

  /// Returns a question about the carrier of a tunnel.
  package static func beneath(_ family: AddressFamily, _ scope: Scope) -> RouteRequest {
    RouteRequest(family, scope, to: internet)
  }
}

extension MonitorConfiguration {
  /// A configuration with which changes of links that do not carry the path are also published.
  package static var withInterfaces: MonitorConfiguration {
    var configuration = MonitorConfiguration()
    configuration.publishesInterfaceChanges = true
    return configuration
  }
}

extension ScriptedKernel {
  /// Returns a started machine that is online by IPv4: eth0, link 2, with 10.0.0.1 and a default route by 10.0.0.254.
  package static func online(_ configuration: MonitorConfiguration = .init()) -> ScriptedKernel {
    var kernel = ScriptedKernel(configuration)
    kernel.facts = [.loopback, .link(2, "eth0"), .address(2, .ip("10.0.0.1"))]
    kernel.answers[.ipv4] = .via(2, .ip("10.0.0.254"), from: .ip("10.0.0.1"))
    kernel.start()
    return kernel
  }

  /// Returns a started machine that is online by both families: eth0, link 2, with 10.0.0.1 and 2001:db8:1::1, and
  /// default routes by 10.0.0.254 and fe80::1.
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
