import Netwatch

extension RoutingRule {
  /// Returns the rule `lookup TABLE`.
  package static func table(_ table: UInt32, suppressing prefixLength: Int32? = nil) -> RoutingRule {
    var rule = RoutingRule()
    rule.action = 1
    rule.table = table
    rule.suppressedPrefixLength = prefixLength
    return rule
  }

  /// Returns the rule `fwmark MARK lookup TABLE`.
  package static func mark(_ mark: UInt32, table: UInt32 = mainTable) -> RoutingRule {
    var rule = RoutingRule.table(table)
    rule.mark = mark
    return rule
  }

  /// Returns the rule `not fwmark MARK lookup TABLE`.
  package static func unlessMark(_ mark: UInt32, table: UInt32) -> RoutingRule {
    var rule = RoutingRule.mark(mark, table: table)
    rule.isInverted = true
    return rule
  }

  /// The rules that every kernel has at first.
  package static let standard = [table(localTable), table(mainTable), table(defaultTable)]

  /// The rules after wg-quick has added its own.
  package static let wgQuick = [
    table(localTable), table(mainTable, suppressing: 0), unlessMark(51820, table: 51820), table(mainTable),
    table(defaultTable),
  ]

  /// The rules after tailscale has added its own.
  package static let tailscale = [
    table(localTable), mark(0x80000), mark(0x80000, table: defaultTable), RoutingRule(), table(52), table(mainTable),
    table(defaultTable),
  ]
}

/// Links and routes with tunnels, as programs for VPNs set them up.
///
/// eth0 is link 2 with 10.0.0.1 and 2001:db8:1::1, wlan0 is link 3 with 10.1.0.1, and wwan0 is link 4 with 10.2.0.1.
/// Tunnels have indices from 10 on. The tunnel with index 10 has 10.8.10.2 and fd00:10::2.
extension ScriptedKernel {
  package static let uplinks: [NetworkEvent] = [
    .loopback, .link(2, "eth0"), .link(3, "wlan0", device: DeviceTraits(isWireless: true)),
    .link(4, "wwan0", .unknown, kind: "wwan", hardwareType: 65534), .address(2, .ip("10.0.0.1")),
    .address(2, .ip("2001:db8:1::1"), 64), .address(3, .ip("10.1.0.1")), .address(4, .ip("10.2.0.1")),
  ]

  /// Returns the facts about a tunnel with an address of each family.
  package static func tunnel(
    _ index: Int32, _ name: String, _ state: LinkState = .unknown, kind: String? = "wireguard",
    hardwareType: UInt16 = 65534, lower: Int32? = nil, remote: InternetAddress? = nil
  ) -> [NetworkEvent] {
    [
      .link(index, name, state, kind: kind, hardwareType: hardwareType, lower: lower, remote: remote),
      .address(index, inside(index, .ipv4)), .address(index, inside(index, .ipv6), 64),
    ]
  }

  /// Returns the address of a tunnel in one family.
  package static func inside(_ index: Int32, _ family: AddressFamily) -> InternetAddress {
    .ip(family == .ipv4 ? "10.8.\(index).2" : "fd00:\(index)::2")
  }

  /// Returns the answer for a way that leads into a tunnel.
  package static func into(
    _ index: Int32, _ family: AddressFamily = .ipv4, table: UInt32 = RoutingRule.mainTable
  ) -> RouteAnswer {
    .via(index, nil, from: inside(index, family), table: table)
  }

  /// Returns the answer for a way over an uplink, as an ordinary lookup gives it.
  package static func over(_ index: Int32) -> RouteAnswer {
    .via(index, .ip("10.\(index - 2).0.254"), from: .ip("10.\(index - 2).0.1"))
  }

  /// Returns the answer for a way over an uplink, as a lookup over one link gives it. Such an answer names no source
  /// address.
  package static func route(over index: Int32, metric: UInt32 = 0) -> RouteAnswer {
    .via(index, .ip("10.\(index - 2).0.254"), from: nil, metric: metric)
  }

  /// Returns a machine, not started, on which wg0, link 10, carries both families, and eth0 carries wg0 over IPv4.
  package static func wgQuick(_ configuration: MonitorConfiguration = .init()) -> ScriptedKernel {
    var kernel = ScriptedKernel(configuration)
    kernel.facts = uplinks + tunnel(10, "wg0")
    for family in AddressFamily.allCases {
      kernel.answers[RouteRequest(family)] = into(10, family, table: 51820)
      kernel.answers[.beneath(family, .rules)] = .rules(RoutingRule.wgQuick)
    }
    kernel.answers[.beneath(.ipv4, .marked(51820))] = over(2)
    return kernel
  }

  /// Returns a machine, not started, on which tun0, link 10, has the two halves of the IPv4 default route. The default
  /// routes themselves stay at eth0 and wlan0.
  package static func openVPN(_ configuration: MonitorConfiguration = .init()) -> ScriptedKernel {
    var kernel = ScriptedKernel(configuration)
    kernel.facts = uplinks + tunnel(10, "tun0", kind: "tun")
    kernel.answers[.ipv4] = into(10)
    kernel.answers[.beneath(.ipv4, .link(2))] = route(over: 2, metric: 100)
    kernel.answers[.beneath(.ipv4, .link(3))] = route(over: 3, metric: 600)
    return kernel
  }

  /// The last published path as "interface vpn medium", with a star for each part that it does not have.
  package var carrier: String {
    guard let path = published.last else { return "* * *" }
    return "\(path.interfaceName ?? "*") \(path.vpn?.interfaceName ?? "*") \(path.medium?.rawValue ?? "*")"
  }
}
