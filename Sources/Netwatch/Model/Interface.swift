/// A network link of this machine, with its addresses.
public struct Interface: Hashable, Sendable, Identifiable {
  /// The kernel's number for it, unique in its network namespace.
  public let index: Int32
  package internal(set) var kernelName: InterfaceName
  /// The driver's kind of a software link (`veth`, `bridge`, `wireguard`, …). Nil for hardware.
  public internal(set) var kind: String? {
    didSet { needsPorts = kind == "bridge" || kind == "bond" || kind == "team" }
  }
  /// What it carries its traffic over: for a bridge, bond or VLAN that of the links below, `.other` for a tunnel.
  public internal(set) var medium: Medium
  /// Using it may cost money: a modem, or somebody's phone, here or below; or its WiFi network or the user says so.
  public internal(set) var isExpensive = false
  /// The state of RFC 2863, as the kernel has it.
  public internal(set) var operationalState: OperationalState
  /// Its addresses, in the order in which they came.
  public internal(set) var addresses: [InterfaceAddress] = []

  /// IFF_* of <linux/if.h>.
  package var flags: UInt32 = 0
  package var hardwareType: UInt16 = 0
  package var device = DeviceTraits()
  /// Whether it may cost money by what the user says; nil where the user leaves that to us.
  package internal(set) var userSaysExpensive: Bool?
  /// What nl80211 says of it; nil where it is no radio's.
  package var wireless: WirelessLink?
  /// The DHCP server that leased its address has said that the network is metered.
  package internal(set) var hasMeteredLease = false
  package internal(set) var role = LinkRole.base
  /// The bridge, bond or team that this is a port of.
  package var masterIndex: Int32?
  /// The link that this one is stacked on, in the same namespace.
  package var lowerIndex: Int32?
  /// What it stands on is in another namespace.
  package var isCarriedElsewhere = false
  /// The only port of a bond that sends, if there is but one.
  package var activePortIndex: Int32?
  /// The other end of a tunnel that says it.
  package var remote: IPAddress?
  /// The user calls it a tunnel.
  var isNamedTunnel = false
  /// The user wants it treated as if it were not there.
  package internal(set) var isIgnored = false
  /// The listing under way has mentioned it; so has the last one, once it is over.
  var isListed = true

  /// Its own state proves nothing: an empty bridge says that it is up.
  package private(set) var needsPorts = false

  /// Its name, at most 15 bytes. Bytes that are not UTF-8 are replaced by U+FFFD.
  public var name: String { kernelName.text }
  public var id: Int32 { index }
  /// Somebody has switched it on (IFF_UP).
  public var isAdministrativelyUp: Bool { flags & Self.upFlag != 0 }
  /// The other end is there: cable, association, peer (IFF_LOWER_UP).
  public var hasCarrier: Bool { flags & Self.lowerUpFlag != 0 }
  public var isLoopback: Bool { flags & Self.loopbackFlag != 0 }

  // IFF_* of <linux/if.h>.
  package static let upFlag: UInt32 = 1 << 0
  package static let loopbackFlag: UInt32 = 1 << 3
  package static let runningFlag: UInt32 = 1 << 6
  package static let lowerUpFlag: UInt32 = 1 << 16
  /// Those that a path depends on.
  package static let relevantFlags = upFlag | loopbackFlag | runningFlag | lowerUpFlag

  /// What says that the WiFi network is metered; nil if nothing does.
  package var metered: MeteredMark? { wireless?.metered ?? (hasMeteredLease ? .lease : nil) }

  /// It can carry packets, as far as its own state says.
  package var isRunning: Bool { Self.isRunning(flags, operationalState) }

  /// IFF_LOWER_UP alone is not enough: it stays set while dormant.
  static func isRunning(_ flags: UInt32, _ state: OperationalState) -> Bool {
    let needed = Self.upFlag | Self.runningFlag | Self.lowerUpFlag
    guard flags & (needed | Self.loopbackFlag) == needed else { return false }
    switch state {
    case .up, .unknown: return true
    case .notPresent, .down, .lowerLayerDown, .testing, .dormant: return false
    }
  }
}
