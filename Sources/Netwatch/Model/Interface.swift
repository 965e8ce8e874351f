/// A network link of this machine, with its addresses.
public struct Interface: Hashable, Sendable, Identifiable {
  /// The index of the link in the kernel's table, unique in its network namespace.
  public let index: Int32
  /// The name of the link as the bytes that the kernel uses.
  package internal(set) var kernelName: InterfaceName
  /// The driver's name for the kind of the link: `veth`, `bridge`, `wireguard` and so on. Nil for most hardware. Ports of a switch
  /// (`dsa`), InfiniBand (`ipoib`) and some modems (`wwan`, `rmnet`) have one.
  public internal(set) var kind: String? {
    didSet { needsPorts = kind == "bridge" || kind == "bond" || kind == "team" }
  }
  /// The kind of this link. A bridge, bond or VLAN has the medium of the links below it; a tunnel has ``Medium/other``.
  public internal(set) var medium: Medium
  /// Whether using the link may cost money.
  ///
  /// True for a modem, Bluetooth, a phone that shares its connection, a link that stands on one of these, and a WiFi network
  /// that is marked as metered. ``MonitorConfiguration/isExpensive`` and rules override this.
  public var isExpensive: Bool { expense != nil }
  /// The reason why using the link may cost money; nil if nothing shows that it may.
  public var expense: Expense? { cost.expense }
  /// Whether a rule asks to send little over the link. See ``MonitorConfiguration/machineRules``.
  public var isConstrained: Bool { cost.isConstrained }
  /// The operational state (RFC 2863) that the kernel reports.
  public internal(set) var operationalState: OperationalState
  /// How often the link has lost its carrier since it was made, as the kernel counts, including losses that were over before anybody
  /// could see them. Nil before Linux 4.16.
  public internal(set) var carrierLosses: Int?
  /// What forbids the radio of a link without a carrier to send; nil if nothing does. As of the last change of the link.
  public var radioBlock: RadioBlock? { device.radioBlock }
  /// Why the WiFi link has left its network, or has not joined one. Nil if it has joined one since, or that was not seen.
  public var wifiEnding: WiFiEnding? { wireless?.ending }
  /// The addresses of the link, in the order in which they appeared.
  public internal(set) var addresses: [InterfaceAddress] = []

  /// The flags IFF_* of <linux/if.h>.
  package var flags: UInt32 = 0
  /// The hardware type: ARPHRD_* of <linux/if_arp.h>.
  package var hardwareType: UInt16 = 0
  /// The facts about the device that the driver gives outside netlink.
  package var device = DeviceTraits()
  /// What using the link costs, or what using the links below it does.
  package internal(set) var cost = LinkCost()
  /// Whether the link may cost money according to the user. Nil if the user leaves the decision to the monitor.
  package internal(set) var userSaysExpensive: Bool?
  /// Whether little is to be sent over the link according to the user. Nil if the user does not say.
  var userSaysConstrained: Bool?
  /// What nl80211 reports about the link. Nil if the link belongs to no radio.
  package var wireless: WirelessLink?
  /// Whether the DHCP server that leased the link's address has marked the network as metered.
  package internal(set) var hasMeteredLease = false
  /// What the link stands on, by its driver's kind.
  package internal(set) var role = LinkRole.base
  /// The index of the bridge, bond or team that this link is a port of.
  package var masterIndex: Int32?
  /// The index of the link that this one is stacked on, in the same namespace.
  package var lowerIndex: Int32?
  /// Whether the link stands on a link in another network namespace.
  package var isCarriedElsewhere = false
  /// The index of the only port of a bond that sends. Nil if there is no single one.
  package var activePortIndex: Int32?
  /// The address of the tunnel's other end, if the kernel reports it.
  package var remote: InternetAddress?
  /// Whether the user calls the link a tunnel.
  var isNamedTunnel = false
  /// Whether the user wants the link to be treated as absent.
  package internal(set) var isIgnored = false
  /// Whether the listing under way, or the last one if none is, has mentioned the link.
  var isListed = true

  /// Whether the link is a bridge, bond or team. Their own state proves nothing: an empty bridge reports that it is up.
  package private(set) var needsPorts = false

  /// The name of the link, at most 15 bytes. Bytes that are not UTF-8 are replaced by U+FFFD.
  public var name: String { kernelName.text }
  /// The index of the link, for `Identifiable`.
  public var id: Int32 { index }
  /// Whether the link is switched on (IFF_UP).
  public var isAdministrativelyUp: Bool { flags & Self.upFlag != 0 }
  /// Whether the other end is there: a plugged cable, an associated access point, a peer (IFF_LOWER_UP).
  public var hasCarrier: Bool { flags & Self.lowerUpFlag != 0 }
  /// Whether the link is the loopback (IFF_LOOPBACK).
  public var isLoopback: Bool { flags & Self.loopbackFlag != 0 }

  // IFF_* of <linux/if.h>.
  package static let upFlag: UInt32 = 1 << 0
  package static let loopbackFlag: UInt32 = 1 << 3
  package static let runningFlag: UInt32 = 1 << 6
  package static let lowerUpFlag: UInt32 = 1 << 16
  /// The flags that a path depends on.
  package static let relevantFlags = upFlag | loopbackFlag | runningFlag | lowerUpFlag

  /// The mark that tells that the WiFi network is metered. Nil if there is none.
  package var metered: MeteredMark? { wireless?.metered ?? (hasMeteredLease ? .lease : nil) }

  /// Whether the link can carry packets, judged by its own state alone.
  package var isRunning: Bool { Self.isRunning(flags, operationalState) }

  /// Returns whether a link with these flags and this state can carry packets. IFF_LOWER_UP alone is not enough: it stays set
  /// while the link is dormant.
  static func isRunning(_ flags: UInt32, _ state: OperationalState) -> Bool {
    let needed = Self.upFlag | Self.runningFlag | Self.lowerUpFlag
    guard flags & (needed | Self.loopbackFlag) == needed else { return false }
    switch state {
    case .up, .unknown: return true
    case .notPresent, .down, .lowerLayerDown, .testing, .dormant: return false
    }
  }
}

/// What forbids a radio to send (rfkill of Linux).
public enum RadioBlock: String, Hashable, Sendable, CaseIterable {
  /// A program has switched the radio off: a flight mode, or `rfkill block`.
  case soft
  /// A switch or a key of the machine has switched the radio off. No program can switch it on.
  case hard
}

/// The name of a link as the kernel's bytes, at most 15 of them. They need not be UTF-8.
package struct InterfaceName: Hashable, Sendable {
  /// The size of the kernel's buffer (IFNAMSIZ), including the zero at the end.
  package static let capacity = 16
  /// The bytes of the name, filled up with zeros.
  private var bytes = SIMD16<UInt8>()

  /// Creates a name from text. The name ends at the first zero and is cut after 15 bytes.
  package init(_ text: String) {
    for (position, byte) in text.utf8.prefix(while: { $0 != 0 }).prefix(Self.capacity - 1).enumerated() {
      bytes[position] = byte
    }
  }

  /// Creates a name from bytes. The name ends at the first zero or after 15 bytes.
  package init(_ text: RawSpan) {
    for position in 0..<min(text.byteCount, Self.capacity - 1) {
      let byte = unsafe text.unsafeLoad(fromByteOffset: position, as: UInt8.self)
      if byte == 0 { break }
      bytes[position] = byte
    }
  }

  package var count: Int {
    var count = 0
    while count < Self.capacity - 1, bytes[count] != 0 { count += 1 }
    return count
  }

  package subscript(position: Int) -> UInt8 { bytes[position] }

  /// The name as text. Bytes that are not UTF-8 are replaced by U+FFFD.
  package var text: String {
    String(decoding: (0..<count).map { bytes[$0] }, as: UTF8.self)
  }
}

/// The operational state of a link (RFC 2863, IF_OPER_* of <linux/if.h>).
public enum OperationalState: UInt8, Hashable, Sendable, CaseIterable {
  // In the order of the kernel's numbers.

  /// The driver does not report a state. The link can still be usable.
  case unknown
  /// The hardware is missing.
  case notPresent
  /// The link cannot carry data, for example because no cable is plugged in or because it is switched off.
  case down
  /// The link below this one is down.
  case lowerLayerDown
  /// The link is in a test mode.
  case testing
  /// The link waits for something, such as an authentication.
  case dormant
  /// The link can carry data.
  case up
}

/// An address of an interface.
public struct InterfaceAddress: Hashable, Sendable {
  /// The address itself.
  public let address: InternetAddress
  /// The number of leading bits of ``address`` that name the network.
  public let prefixLength: UInt8
  /// The flags IFA_F_* of <linux/if_addr.h>.
  package var flags: UInt32
  /// The destinations for which the address may be the source: RT_SCOPE_* of <linux/rtnetlink.h>.
  package var scope: UInt8
  var isListed = true

  package init(address: InternetAddress, prefixLength: UInt8, flags: UInt32, scope: UInt8 = 0) {
    self.address = address
    self.prefixLength = prefixLength
    self.flags = flags
    self.scope = scope
  }

  // IFA_F_* of <linux/if_addr.h>.
  package static let optimisticFlag: UInt32 = 0x04
  package static let duplicateFlag: UInt32 = 0x08
  package static let deprecatedFlag: UInt32 = 0x20
  package static let tentativeFlag: UInt32 = 0x40
  /// The address has no end.
  static let permanentFlag: UInt32 = 0x80
  /// The flags that decide whether an address is usable.
  package static let relevantFlags = optimisticFlag | duplicateFlag | tentativeFlag

  /// Whether the address still serves open connections but is not the first choice for new ones. Router advertisements set
  /// and clear this.
  package var isDeprecated: Bool { flags & Self.deprecatedFlag != 0 }

  /// Whether the address has passed the check for duplicates, or is used before its end.
  private var isChecked: Bool {
    if flags & Self.duplicateFlag != 0 { return false }
    return flags & Self.tentativeFlag == 0 || flags & Self.optimisticFlag != 0
  }

  /// Returns whether the address can be the source of traffic that leaves the link.
  ///
  /// - Parameter scope: The scope of the traffic's route. IPv4 takes no address of a narrower scope by itself, but a route may
  ///   name one. Default: that of a route to a router, except for link-local addresses.
  package func isUsable(forRouteOf scope: UInt8? = nil, allowingLinkLocalIPv4: Bool) -> Bool {
    let widest = scope ?? (address.isLinkLocal ? .max : 0)
    return isChecked && address.isUsableSource(allowingLinkLocalIPv4: allowingLinkLocalIPv4)
      && (address.family == .ipv6 || self.scope <= widest)
  }
}

extension InterfaceAddress {
  /// Whether the address's network contains an address that would otherwise stand for the internet.
  var coversProbeAddress: Bool { Destinations.internet[address.family].dropLast().contains(where: covers) }

  /// Returns whether the address's network contains `other`. A prefix as short as a default route's contains nothing here.
  func covers(_ other: InternetAddress) -> Bool {
    prefixLength > Destinations.defaultPrefixLength && address.shares(prefixLength, with: other)
  }
}

extension InternetAddress {
  /// Returns whether traffic that leaves this machine can come from this address.
  package func isUsableSource(allowingLinkLocalIPv4: Bool) -> Bool {
    if isLoopback || isMulticast || isUnspecified { return false }
    guard isLinkLocal else { return true }
    return family == .ipv4 && allowingLinkLocalIPv4
  }
}

extension InterfaceAddress: CustomStringConvertible {
  /// The address and its prefix, such as `10.0.0.2/24`.
  public var description: String { "\(address)/\(prefixLength)" }
}
