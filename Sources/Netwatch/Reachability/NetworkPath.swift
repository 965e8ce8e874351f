/// Whether the network can be reached, over what, and why that was published.
///
/// A value, complete in itself. Two paths are equal if everything in them is, the reason and the list of links included;
/// a monitor publishes one when what ``NetworkPath/status``, ``medium``, ``interfaceName``, ``isExpensive``, ``vpn``,
/// ``ipv4``, ``ipv6`` or the SSID of ``wifi`` say has changed.
public struct NetworkPath: Hashable, Sendable {
  /// What one address family uses.
  public struct FamilyPath: Hashable, Sendable {
    /// The source address that the kernel would take.
    public let address: IPAddress
    /// The next hop, nil where the target is on the link itself.
    public let gateway: IPAddress?
    package let interfaceIndex: Int32

    package init(address: IPAddress, gateway: IPAddress?, interfaceIndex: Int32) {
      self.address = address
      self.gateway = gateway
      self.interfaceIndex = interfaceIndex
    }
  }

  /// What is published when it changes.
  package struct Verdict: Hashable, Sendable {
    package var status: ReachabilityStatus
    package var medium: Medium?
    package var interfaceName: InterfaceName?
    package var interfaceIndex: Int32?
    package var isExpensive = false
    package var vpn: VPN?
    package var ipv4: FamilyPath?
    package var ipv6: FamilyPath?
    /// Of the radio that carries the traffic.
    package var ssid: SSID?

    package static let unknown = Verdict(status: .unknown)
    package static let notReachable = Verdict(status: .notReachable)

    package init(status: ReachabilityStatus) { self.status = status }

    package var isReachable: Bool { status.isReachable }

    /// The link that carries the traffic; nil unless reachable.
    package var carrier: (index: Int32, name: InterfaceName)? {
      guard let index = interfaceIndex, let name = interfaceName else { return nil }
      return (index, name)
    }

    /// The families by which it is reachable.
    var families: AddressFamilies {
      var families = AddressFamilies()
      if ipv4 != nil { families.insert(.ipv4) }
      if ipv6 != nil { families.insert(.ipv6) }
      return families
    }

    /// The families that fare as in another verdict; none where there is no other.
    func familiesEqual(to other: Verdict) -> AddressFamilies {
      var families = AddressFamilies.both
      if ipv4 != other.ipv4 { families.remove(.ipv4) }
      if ipv6 != other.ipv6 { families.remove(.ipv6) }
      return families
    }
  }

  package let verdict: Verdict
  /// Why this path was published.
  public let reason: ReachabilityReason
  /// The same as ``interfaces``, as it is kept.
  package let links: InterfaceTable
  /// As it was when this was published.
  package let connection: WiFiConnection
  private let allowsLinkLocalIPv4: Bool

  package init(
    verdict: Verdict, reason: ReachabilityReason, interfaces: InterfaceTable,
    connection: WiFiConnection = WiFiConnection(),
    allowsLinkLocalIPv4: Bool = false
  ) {
    self.verdict = verdict
    self.reason = reason
    links = interfaces
    self.connection = connection
    self.allowsLinkLocalIPv4 = allowsLinkLocalIPv4
  }

  package func with(reason: ReachabilityReason) -> NetworkPath { with(connection, reason: reason) }

  package func with(_ connection: WiFiConnection, reason: ReachabilityReason) -> NetworkPath {
    NetworkPath(
      verdict: verdict, reason: reason, interfaces: links, connection: connection,
      allowsLinkLocalIPv4: allowsLinkLocalIPv4)
  }

  public var status: ReachabilityStatus { verdict.status }
  /// The status is `.wifi` or `.wwan`.
  public var isReachable: Bool { verdict.status.isReachable }
  /// What the traffic goes over; nil unless reachable.
  public var medium: Medium? { verdict.medium }
  /// The link that carries the traffic, beneath any tunnel: IPv4's where both families are reachable. Nil unless
  /// reachable. A bridge, bond or VLAN is named itself.
  public var interfaceName: String? { verdict.interfaceName?.text }
  /// Its index.
  public var interfaceIndex: Int32? { verdict.interfaceIndex }
  /// The link that carries the traffic, as the kernel calls it; nil unless reachable.
  package var carrier: (index: Int32, name: InterfaceName)? { verdict.carrier }
  /// The addresses that traffic leaves from: those of the link that carries it, or of the tunnel where there is one.
  package var localAddresses: Set<IPAddress> {
    let outer = verdict.vpn.map(\.interfaceIndex) ?? verdict.interfaceIndex
    var addresses = Set(outer.flatMap(links.interface)?.addresses.map(\.address) ?? [])
    // A path that a service tells has no list of links, and an unnumbered link borrows its address.
    for family in [verdict.ipv4, verdict.ipv6] {
      guard let family, [outer, verdict.interfaceIndex].contains(family.interfaceIndex) else { continue }
      addresses.insert(family.address)
    }
    return addresses
  }
  /// Every link of the machine, loopback included, sorted by index.
  public var interfaces: [Interface] { Array(links) }
  /// The link that carries the traffic.
  public var interface: Interface? { verdict.interfaceIndex.flatMap(links.interface) }
  /// Whether using the path may cost money: over a modem, Bluetooth, a phone on USB, or a WiFi network that says it is metered.
  public var isExpensive: Bool { verdict.isExpensive }
  /// The tunnel that the route leads into; the outermost, if there are several. Nil where there is none.
  public var vpn: VPN? { verdict.vpn }
  /// The WiFi network that carries the traffic; nil where it is none.
  public var wifi: WiFiNetwork? { verdict.ssid.map { WiFiNetwork(ssid: $0, connection: connection) } }
  /// How IPv4 leaves the machine; nil where it does not.
  public var ipv4: FamilyPath? { verdict.ipv4 }
  /// How IPv6 leaves the machine; nil where it does not.
  public var ipv6: FamilyPath? { verdict.ipv6 }
  public var supportsIPv4: Bool { verdict.ipv4 != nil }
  public var supportsIPv6: Bool { verdict.ipv6 != nil }

  /// The next hops in use, IPv4's first.
  public var gateways: [IPAddress] {
    [verdict.ipv4?.gateway, verdict.ipv6?.gateway].compactMap { $0 }
  }

  /// The links that could carry traffic now, the one in use first.
  public var availableInterfaces: [Interface] {
    let usable = links.filter { status(of: $0) != .notReachable }
    return usable.filter { $0.index == verdict.interfaceIndex } + usable.filter { $0.index != verdict.interfaceIndex }
  }

  /// What one link could be used for, whatever the routes say.
  public func status(of interface: Interface) -> ReachabilityStatus {
    guard links.isUsable(interface), usableAddress(of: interface) != nil else { return .notReachable }
    return ReachabilityStatus(of: interface.medium)
  }

  /// The first address of a link that traffic can come from.
  func usableAddress(of interface: Interface) -> IPAddress? {
    interface.addresses.first { $0.isUsable(allowingLinkLocalIPv4: allowsLinkLocalIPv4) }?.address
  }

  /// Whether the traffic goes over `medium`.
  public func uses(_ medium: Medium) -> Bool { verdict.medium == medium }
}
