/// The answer to whether the network is reachable, over which link, and why this was published.
///
/// A path is a value, complete in itself. Two paths are equal if everything in them is equal, including the reason and the list
/// of links. A monitor publishes a path when one of these has changed: ``NetworkPath/status``, ``medium``, ``interfaceName``,
/// ``isExpensive``, ``vpn``, ``ipv4``, ``ipv6`` or the SSID of ``wifi``. If ``MonitorConfiguration`` requests it, a monitor
/// also publishes a path when ``interfaces``, the signal, the access point, ``internet``, ``stages``, ``linkQuality``, ``network`` or
/// ``announcements`` has changed.
public struct NetworkPath: Hashable, Sendable {
  /// The way by which one address family leaves this machine.
  public struct FamilyPath: Hashable, Sendable {
    /// The source address that the kernel would choose.
    public let address: InternetAddress
    /// The next hop. Nil if the route has none: the target is on the link itself, or the link is a tunnel or a point-to-point link.
    public let gateway: InternetAddress?
    /// The index of the link that the route leads into.
    package let interfaceIndex: Int32
    /// The name of that link. Nil in a path from a service that does not report it.
    package var kernelName: InterfaceName?

    /// The name of the link that the route leads into, such as `eth0`, or `wg0` if it leads into a tunnel. The families may leave
    /// over different links. Nil in a path from a service that is older than this property.
    public var interfaceName: String? { kernelName?.text }

    package init(
      address: InternetAddress, gateway: InternetAddress?, interfaceIndex: Int32, kernelName: InterfaceName? = nil
    ) {
      self.address = address
      self.gateway = gateway
      self.interfaceIndex = interfaceIndex
      self.kernelName = kernelName
    }
  }

  /// The part of a path that is published when it changes.
  package struct Verdict: Hashable, Sendable {
    package var status: ReachabilityStatus
    package var medium: Medium?
    package var interfaceName: InterfaceName?
    package var interfaceIndex: Int32?
    package var cost = LinkCost()
    package var vpn: VPN?
    package var ipv4: FamilyPath?
    package var ipv6: FamilyPath?
    /// The name of the WiFi network of the radio that carries the traffic.
    package var ssid: SSID?
    /// Whether nothing leads to the internet, but neighbours are known on a link that works. False also if that is not known.
    package var isLocalOnly = false

    package static let unknown = Verdict(status: .unknown)
    package static let notReachable = Verdict(status: .notReachable)

    package init(status: ReachabilityStatus) { self.status = status }

    package var isReachable: Bool { status.isReachable }

    /// The link that carries the traffic. Nil if nothing is reachable, and in a path from an event stream, which has no list of
    /// links; use ``interfaceName`` there.
    package var carrier: (index: Int32, name: InterfaceName)? {
      guard let index = interfaceIndex, let name = interfaceName else { return nil }
      return (index, name)
    }

    /// Whether the IPv4 source is this machine's end of 464XLAT. That of DS-Lite has such an address too, but leaves through a tunnel.
    package var isIPv4Translated: Bool {
      guard let ipv4, ipv4.address.isTranslated, ipv4.gateway?.family != .ipv4 else { return false }
      return vpn?.families.contains(.ipv4) != true
    }

    /// The families in which the target is reachable.
    package var families: AddressFamilies {
      var families = AddressFamilies()
      if ipv4 != nil { families.insert(.ipv4) }
      if ipv6 != nil { families.insert(.ipv6) }
      return families
    }

    /// The families whose paths are the same in another verdict.
    func familiesEqual(to other: Verdict) -> AddressFamilies {
      var families = AddressFamilies.both
      if ipv4 != other.ipv4 { families.remove(.ipv4) }
      if ipv6 != other.ipv6 { families.remove(.ipv6) }
      return families
    }
  }

  /// The interface that carried the traffic, and does not carry it any more.
  public struct LostInterface: Hashable, Sendable {
    package let kernelName: InterfaceName
    /// The kind of the interface.
    public let medium: Medium
    /// The WiFi network that the interface had joined; nil if there was none.
    public let ssid: SSID?

    package init(kernelName: InterfaceName, medium: Medium, ssid: SSID?) {
      (self.kernelName, self.medium, self.ssid) = (kernelName, medium, ssid)
    }

    /// Creates the interface that carries the traffic of a path; nil if none does.
    package init?(_ path: NetworkPath) {
      guard path.isReachable, let name = path.kernelName, let medium = path.medium else { return nil }
      self.init(kernelName: name, medium: medium, ssid: path.verdict.ssid)
    }

    /// The name of the interface.
    public var name: String { kernelName.text }
  }

  /// What was found out besides the verdict, because a monitor or a program was asked to.
  package struct Findings: Hashable, Sendable {
    package var internet: InternetAccess?
    package var portal: PortalURL?
    package var stages: NetworkStages?
    package var quality: LinkQuality?
    package var network: NetworkIdentity?
    package var lost: LostInterface?
    package var announcements: NetworkAnnouncements?
    package var cable: CableState?
    package var wifiEnding: WiFiEnding?
    package var uplinks: [Uplink]?

    package init() {}
  }

  /// Findings on the heap, because most paths have none, and paths are copied often.
  private indirect enum Box: Hashable, Sendable { case findings(Findings) }

  /// The part of the path that is published when it changes.
  package let verdict: Verdict
  /// The reason why this path was published. A path in which only ``stages``, ``linkQuality`` or ``network`` differs from the one before
  /// keeps that one's reason.
  public let reason: ReachabilityReason
  /// The links of ``interfaces``, in the form in which they are kept.
  package let links: InterfaceTable
  /// The connection to the access point when this path was published.
  package let connection: WiFiConnection
  /// The indices of the links that carry traffic besides ``carrier``. Empty unless all were to be found.
  private let otherCarriers: [Int32]
  private let allowsLinkLocalIPv4: Bool
  /// Nil if there are no findings.
  private var box: Box?

  package init(
    verdict: Verdict, reason: ReachabilityReason, interfaces: InterfaceTable,
    connection: WiFiConnection = WiFiConnection(), otherCarriers: [Int32] = [], allowsLinkLocalIPv4: Bool = false
  ) {
    self.verdict = verdict
    self.reason = reason
    links = interfaces
    self.connection = connection
    self.otherCarriers = otherCarriers
    self.allowsLinkLocalIPv4 = allowsLinkLocalIPv4
  }

  /// What was found out besides the verdict; empty unless somebody has asked for it.
  package var findings: Findings {
    get { if case .findings(let findings)? = box { findings } else { Findings() } }
    set { box = newValue == Findings() ? nil : .findings(newValue) }
  }

  package func with(reason: ReachabilityReason) -> NetworkPath { with(connection, reason: reason) }

  package func with(_ connection: WiFiConnection, reason: ReachabilityReason) -> NetworkPath {
    var path = NetworkPath(
      verdict: verdict, reason: reason, interfaces: links, connection: connection,
      otherCarriers: otherCarriers, allowsLinkLocalIPv4: allowsLinkLocalIPv4)
    path.box = box
    return path
  }

  package func with(_ findings: Findings, reason: ReachabilityReason) -> NetworkPath {
    var path = with(reason: reason)
    path.findings = findings
    return path
  }

  /// The status: reachable over a cellular modem, over anything else, not reachable, or unknown.
  public var status: ReachabilityStatus { verdict.status }
  /// Whether the target is reachable: the status is ``ReachabilityStatus/wifi`` or ``ReachabilityStatus/wwan``.
  public var isReachable: Bool { verdict.status.isReachable }
  /// Whether this machine is in a network of its own: nothing leads to the internet, but a link works and has an address, and the kernel
  /// knows other machines there. False also if no other machine is known yet. The status is ``ReachabilityStatus/notReachable`` then.
  public var isLocalOnly: Bool { verdict.isLocalOnly }
  /// The kind of link that carries the traffic. Nil unless reachable.
  public var medium: Medium? { verdict.medium }
  /// The name of the link that carries the traffic, beneath any tunnel. Nil unless reachable.
  ///
  /// If both families are reachable, this is the link of IPv4. A bridge, bond or VLAN is named itself, not the links below
  /// it. If it is not known which link carries the tunnel, this is the tunnel.
  public var interfaceName: String? { kernelName?.text }
  /// The name of ``interfaceName``, in the kernel's bytes.
  package var kernelName: InterfaceName? { verdict.interfaceName }
  /// The index of the link that ``interfaceName`` names. Nil unless reachable.
  public var interfaceIndex: Int32? { verdict.interfaceIndex }
  /// The link that carries the traffic, by the kernel's index and name. Nil unless reachable.
  package var carrier: (index: Int32, name: InterfaceName)? { verdict.carrier }
  /// The links that carry the traffic, that of ``interfaceName`` first: those of the other next hops of the route and of the other
  /// family follow, if the configuration asks for all. Empty unless reachable.
  package var carriers: [(index: Int32, name: InterfaceName)] {
    [carrier].compactMap { $0 }
      + otherCarriers.compactMap { index in links.interface(index).map { (index, $0.kernelName) } }
  }
  /// The addresses from which traffic leaves: those of the links that the routes lead into.
  package var localAddresses: Set<InternetAddress> {
    var addresses: Set<InternetAddress> = []
    for case let way? in [verdict.ipv4, verdict.ipv6] {
      addresses.formUnion(links.interface(way.interfaceIndex)?.addresses.map(\.address) ?? [])
      // A path that comes from a service has no list of links, and an unnumbered link borrows its address.
      addresses.insert(way.address)
    }
    return addresses
  }
  /// All links of the machine, including the loopback, sorted by index. Empty in a path from an event stream.
  public var interfaces: [Interface] { Array(links) }
  /// The link that carries the traffic. Nil if nothing is reachable, and in a path from an event stream, which lists no links; use
  /// ``interfaceName`` there.
  public var interface: Interface? { verdict.interfaceIndex.flatMap(links.interface) }
  /// Whether using the path, by either family, may cost money. True for a modem, Bluetooth, a phone on USB, and a WiFi network that is marked as
  /// metered.
  public var isExpensive: Bool { expense != nil }
  /// The reason why using the path may cost money; nil if nothing shows that it may. If both families are expensive, that of IPv4.
  public var expense: Expense? { verdict.cost.expense }
  /// Whether a rule asks to send little over the path, by either family. See ``MonitorConfiguration/machineRules``.
  public var isConstrained: Bool { verdict.cost.isConstrained }
  /// The tunnel that the route of a family leads into, that of IPv4 first. Further tunnels that carry this one are not named. Nil
  /// if neither family's route leads into one.
  public var vpn: VPN? { verdict.vpn }
  /// The WiFi network that carries the traffic. Nil if no WiFi network does.
  public var wifi: WiFiNetwork? { verdict.ssid.map { WiFiNetwork(ssid: $0, connection: connection) } }
  /// The way by which IPv4 leaves the machine. Nil if there is none.
  public var ipv4: FamilyPath? { verdict.ipv4 }
  /// The way by which IPv6 leaves the machine. Nil if there is none.
  public var ipv6: FamilyPath? { verdict.ipv6 }
  /// Whether the target is reachable over IPv4.
  public var supportsIPv4: Bool { verdict.ipv4 != nil }
  /// Whether the target is reachable over IPv6.
  public var supportsIPv6: Bool { verdict.ipv6 != nil }

  /// The interface that carried the traffic before: in the path of the change from it to another one, and in each path while nothing
  /// is reachable. Otherwise nil, or if no interface was seen to carry traffic.
  public var lost: LostInterface? { findings.lost }
  /// Why the WiFi network was left, or was not joined: of ``lost`` if that was WiFi, otherwise while nothing is reachable, of the first
  /// link of which that is known. Otherwise nil.
  ///
  /// The kernel may say why only after the loss. Then another path is published with the same reason, if ``MonitorConfiguration/wifi``
  /// requests details.
  public var wifiEnding: WiFiEnding? { findings.wifiEnding }
  /// Whether the internet answers over this path, by the last probe. Nil unless ``MonitorConfiguration/probe`` asks.
  public var internet: InternetAccess? { findings.internet }
  /// The address of the login page if a captive portal answers in place of the internet; nil if none does, or it gives no address.
  public var portal: PortalURL? { findings.portal }
  /// The stages of the way to the internet and which of them work. Nil unless ``MonitorConfiguration/watchesStages`` is set.
  public var stages: NetworkStages? { findings.stages }
  /// The quality of the link that carries the traffic, as of the last sample. Nil unless ``MonitorConfiguration/measuresQuality`` is
  /// set and a link carries the traffic.
  public var linkQuality: LinkQuality? { findings.quality }
  /// The ID of the network that carries the traffic. Nil unless ``MonitorConfiguration/identifiesNetwork`` is set, and as long as the
  /// kernel does not know the hardware address of the gateway.
  public var network: NetworkIdentity? { findings.network }

  /// What the network has said about itself. Nil unless ``MonitorConfiguration/hearsAnnouncements`` is set.
  public var announcements: NetworkAnnouncements? { findings.announcements }

  /// What the driver of the wired link that carries the traffic says about its cable; while nothing is reachable, of a link that lacks its
  /// carrier. Nil unless ``MonitorConfiguration/readsCable`` is set, and if there is no such link or its driver says nothing.
  public var cable: CableState? { findings.cable }

  /// Each link that could carry the traffic, judged as if it were the only one. Nil unless
  /// ``MonitorConfiguration/judgesUplinks`` is set.
  public var uplinks: [Uplink]? { findings.uplinks }

  /// Whether this machine translates its IPv4 packets to IPv6, at its end of 464XLAT (RFC 6877): the IPv4 source is in 192.0.0.0/29
  /// (RFC 7335), no IPv4 gateway leads out, and no VPN carries IPv4.
  public var isIPv4Translated: Bool { verdict.isIPv4Translated }

  /// How IPv4 is translated. Nil unless ``MonitorConfiguration/hearsAnnouncements`` is set, and if neither this machine translates nor a
  /// router has said that the network does. A network with DNS64 that does not say so is not asked.
  public var translation: IPv4Translation? { announcements.flatMap(translation) }

  /// As ``translation``, with what the network has said.
  package func translation(_ announcements: NetworkAnnouncements) -> IPv4Translation? {
    guard isReachable else { return nil }
    let prefix = announcements.translationPrefix
    if isIPv4Translated { return IPv4Translation(prefix: prefix, translator: .clat) }
    guard let prefix else { return nil }
    return IPv4Translation(prefix: prefix, translator: supportsIPv4 ? .none : .nat64)
  }

  /// The next hops in use; the one of IPv4 comes first.
  public var gateways: [InternetAddress] {
    [verdict.ipv4?.gateway, verdict.ipv6?.gateway].compactMap { $0 }
  }

  /// The links that could carry traffic now. The one in use comes first.
  public var availableInterfaces: [Interface] {
    let usable = links.filter { status(of: $0) != .notReachable }
    return usable.filter { $0.index == verdict.interfaceIndex } + usable.filter { $0.index != verdict.interfaceIndex }
  }

  /// Returns the status that a link could provide by its own state and addresses, whatever the routes are.
  public func status(of interface: Interface) -> ReachabilityStatus {
    guard links.isUsable(interface), usableAddress(of: interface) != nil else { return .notReachable }
    return ReachabilityStatus(of: interface.medium)
  }

  /// Returns the first address of a link that traffic can come from.
  func usableAddress(of interface: Interface) -> InternetAddress? {
    interface.addresses.first { $0.isUsable(allowingLinkLocalIPv4: allowsLinkLocalIPv4) }?.address
  }

  /// Returns whether a link has an address of a family that traffic can come from.
  package func hasUsableAddress(of interface: Interface, _ family: AddressFamily) -> Bool {
    interface.addresses.contains {
      $0.address.family == family && $0.isUsable(allowingLinkLocalIPv4: allowsLinkLocalIPv4)
    }
  }

  /// Returns whether the traffic goes over `medium`.
  public func uses(_ medium: Medium) -> Bool { verdict.medium == medium }
}

extension NetworkPath: CustomStringConvertible, CustomDebugStringConvertible {
  /// The path as a person would say it, such as `wired eth0, 10.0.0.2; via VPN tun0` or `not reachable: no carrier`.
  public var description: String {
    guard isReachable else { return "\(status): \(reason)" }
    var parts = ["over an unknown link"]
    if let medium, let interfaceName, vpn?.interfaceName != interfaceName {
      parts = ["\(medium) \(interfaceName.sanitizedForTerminal)"]
    }
    if let wifi { parts[0] += " (\(wifi.ssid.quoted))" }
    parts += [ipv4, ipv6].compactMap { $0?.address.description }
    let tunnel = vpn.map { "; via \($0)" } ?? ""
    let fault = internet.flatMap { $0.isFault ? "; \($0.words)" : nil } ?? ""
    return parts.joined(separator: ", ") + tunnel + (isExpensive ? "; may cost money" : "") + fault
  }

  /// The public properties of the path, with the names of its links.
  public var debugDescription: String {
    """
    NetworkPath(status: \(status.rawValue), reason: \(reason.rawValue), medium: \(medium?.rawValue ?? "nil"), \
    interface: \(interfaceName.debugText), ipv4: \(ipv4.debugText), ipv6: \(ipv6.debugText), vpn: \(vpn.debugText), \
    wifi: \(wifi.debugText), expense: \(expense?.rawValue ?? "nil"), isConstrained: \(isConstrained), \
    \(debugFindings)interfaces: [\(links.map(\.name.sanitizedForTerminal).joined(separator: ", "))])
    """
  }
}

extension NetworkPath {
  /// The findings that there are, each with a comma after it.
  private var debugFindings: String {
    let all: [(String, Any?)] = [
      ("internet", internet), ("portal", portal), ("stages", stages), ("linkQuality", linkQuality),
      ("network", network),
      ("lost", lost),
    ]
    return all.compactMap { name, value in value.map { "\(name): \($0), " } }.joined()
  }
}

extension Optional {
  /// The wrapped value as text without characters that could control the terminal, or `nil`.
  fileprivate var debugText: String { map { "\($0)".sanitizedForTerminal } ?? "nil" }
}

extension NetworkPath.LostInterface: CustomStringConvertible {
  /// The kind, the name and the WiFi network, such as `wifi wlan0 (“Café”)`.
  public var description: String {
    "\(medium) \(name.sanitizedForTerminal)" + (ssid.map { " (\($0.quoted))" } ?? "")
  }
}

extension NetworkPath.FamilyPath: CustomStringConvertible {
  /// The source address, the next hop and the link, such as `10.0.0.2 via 10.0.0.254 over eth0`.
  public var description: String {
    let hop = gateway.map { " via \($0)" } ?? ""
    return "\(address)\(hop)" + (interfaceName.map { " over \($0.sanitizedForTerminal)" } ?? "")
  }
}

/// The interface that carried the traffic last. Pure.
package struct CarrierMemory: Sendable {
  private var carrier: NetworkPath.LostInterface?

  package init() {}

  /// Returns the interface that carries the traffic no more: in the path of the change from it to another one, and in each path while
  /// nothing is reachable.
  ///
  /// - Parameter isChange: Whether the path was published because the way of the traffic has changed.
  package mutating func loss(in path: NetworkPath, isChange: Bool) -> NetworkPath.LostInterface? {
    guard let now = NetworkPath.LostInterface(path) else { return path.status == .notReachable ? carrier : nil }
    defer { carrier = now }
    return isChange && carrier?.kernelName != now.kernelName ? carrier : nil
  }
}

/// Why the WiFi network of the path was left or not joined, and whether that is news. Pure.
package struct EndingMemory: Sendable {
  private var told: WiFiEnding?

  package init() {}

  /// Notes the ending that is told with a path, and returns it.
  ///
  /// - Parameter lost: The interface that has carried the traffic before.
  package mutating func ending(in path: NetworkPath, after lost: NetworkPath.LostInterface?) -> WiFiEnding? {
    let ending = Self.known(in: path, after: lost)
    told = path.isReachable ? nil : ending ?? told
    return ending
  }

  /// Returns whether a path has another ending than the one that was told since something was reachable.
  package func isNews(in path: NetworkPath, after lost: NetworkPath.LostInterface?) -> Bool {
    guard path.status == .notReachable, let ending = Self.known(in: path, after: lost) else { return false }
    return ending != told
  }

  private static func known(in path: NetworkPath, after lost: NetworkPath.LostInterface?) -> WiFiEnding? {
    if let lost { return path.links.first { $0.kernelName == lost.kernelName }?.wifiEnding }
    return path.isReachable ? nil : path.links.lazy.compactMap(\.wifiEnding).first
  }
}
