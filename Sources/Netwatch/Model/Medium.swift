/// What kind of link carries the traffic.
public enum Medium: String, Hashable, Sendable, CaseIterable {
  case wifi, wired, wwan, bluetooth, virtual, other
}

/// What a driver says of its device outside netlink: the uevent and the links beside it in sysfs.
package struct DeviceTraits: Hashable, Sendable {
  /// DEVTYPE of the uevent: `wlan`, `wwan`, `bluetooth`, `bridge`, …
  package var type: String?
  /// It belongs to a radio of cfg80211.
  package var isWireless = false
  /// It is a phone or a modem that shares its connection over USB, and looks like Ethernet.
  package var isTether = false
  /// The user says that it is a modem, as one behind pppd cannot be told from a PPPoE line.
  package var isModem = false

  package init(type: String? = nil, isWireless: Bool = false, isTether: Bool = false) {
    self.type = type
    self.isWireless = isWireless
    self.isTether = isTether
  }
}

extension Medium {
  // ARPHRD_* of <linux/if_arp.h>.
  private static let ethernet: UInt16 = 1
  private static let infiniband: UInt16 = 32
  private static let rawIP: UInt16 = 519
  private static let phonetPipe: UInt16 = 530
  private static let ppp: UInt16 = 512

  /// The medium of a link that stands on no other.
  package static func classify(
    name: String, kind: String?, hardwareType: UInt16, device: DeviceTraits, wireless: WirelessLink? = nil
  ) -> Medium {
    recognize(name: name, kind: kind, hardwareType: hardwareType, device: device, wireless: wireless).medium
  }

  /// The medium, and what it was known by; the first rule that matches decides.
  ///
  /// WWAN comes first because a USB modem looks like Ethernet but for its DEVTYPE.
  package static func recognize(
    name: String, kind: String?, hardwareType: UInt16, device: DeviceTraits, wireless: WirelessLink?
  ) -> (medium: Medium, mark: MediumMark) {
    if let mark = modemMark(name: name, kind: kind, hardwareType: hardwareType, device: device) { return (.wwan, mark) }
    // An access point is no way out, and a monitor is no link.
    if let wireless { return (wireless.isMediumWiFi ? .wifi : .other, .radio(wireless.mode)) }
    if device.isWireless { return (.wifi, .sysfsRadio) }
    switch device.type {
    case "wlan"?: return (.wifi, .deviceType("wlan"))
    case "bluetooth"?: return (.bluetooth, .deviceType("bluetooth"))
    default: break
    }
    // A modem behind pppd and a PPPoE line look the same.
    if hardwareType == Self.ppp { return (.other, .hardwareType(hardwareType)) }
    if let kind { return (kind == "veth" ? .virtual : .other, .kind(kind)) }
    switch (hardwareType, device.type) {
    case (Self.infiniband, _): return (.wired, .hardwareType(hardwareType))
    case (Self.ethernet, nil): return (.wired, .plainEthernet)
    case (Self.ethernet, let type?):
      return (type == "gadget" || type == "dsa" ? .wired : .other, .deviceType(type))
    default: return (.other, .hardwareType(hardwareType))
    }
  }

  private static func modemMark(
    name: String, kind: String?, hardwareType: UInt16, device: DeviceTraits
  ) -> MediumMark? {
    if let kind, kind == "wwan" || kind == "rmnet" { return .kind(kind) }
    if device.type == "wwan" { return .deviceType("wwan") }
    if device.isModem { return .user }
    switch hardwareType {
    case Self.rawIP, Self.phonetPipe: return .hardwareType(hardwareType)
    case Self.ethernet:
      // Modem drivers of phones that set neither kind nor DEVTYPE.
      let isPhone = name.hasPrefix("rmnet") || name.hasPrefix("rev_rmnet") || name.hasPrefix("ccmni")
      return kind == nil && isPhone ? .name : nil
    default: return nil
    }
  }
}

extension Interface {
  /// What its own medium was known by, whatever it stands on.
  package var mediumMark: MediumMark {
    Medium.recognize(name: name, kind: kind, hardwareType: hardwareType, device: device, wireless: wireless).mark
  }
}

/// What a medium was known by.
package enum MediumMark: Hashable, Sendable {
  /// The user said so.
  case user
  /// IFLA_INFO_KIND.
  case kind(String)
  /// DEVTYPE in the uevent.
  case deviceType(String)
  /// ARPHRD_* of <linux/if_arp.h>.
  case hardwareType(UInt16)
  case name
  /// nl80211 knows it.
  case radio(WirelessLink.Mode)
  /// sysfs names a radio for it.
  case sysfsRadio
  /// Ethernet without any other mark.
  case plainEthernet
}

/// What a link stands on, by its driver's kind.
package enum LinkRole: Hashable, Sendable {
  /// Hardware, or software that stands on nothing else of this machine.
  case base
  /// It packs its traffic up and sends it over another link, which only the routes tell.
  case tunnel(TunnelKind)
  /// It stands on one other link, which the kernel names.
  case stacked
  /// It stands on its ports: the links whose master it is.
  case aggregate
  /// It leads nowhere: what is sent there is dropped or turned back. Kill switches use one.
  case sink

  package init(kind: String?, hardwareType: UInt16, device: DeviceTraits) {
    switch kind {
    case "vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec": self = .stacked
    case "bond", "bridge", "team", "vrf": self = .aggregate
    case "dummy", "ifb", "nlmon": self = .sink
    default:
      // Modems without an Ethernet header look like tunnels but for their DEVTYPE.
      let looksLikeOne = device.type != "wwan" && Self.tunnelTypes.contains(hardwareType)
      let tunnel = kind.flatMap(TunnelKind.init) ?? (looksLikeOne ? .other : nil)
      self = tunnel.map(LinkRole.tunnel) ?? .base
    }
  }

  package var tunnelKind: TunnelKind? {
    if case .tunnel(let kind) = self { kind } else { nil }
  }

  /// ARPHRD_NONE, TUNNEL, TUNNEL6, SIT, IPGRE, IP6GRE of <linux/if_arp.h>.
  private static let tunnelTypes: Set<UInt16> = [0xfffe, 768, 769, 776, 778, 823]
}
