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
  package var remote: IPAddress?
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
