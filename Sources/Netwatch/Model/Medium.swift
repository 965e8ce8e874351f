/// The kind of link that carries the traffic.
public enum Medium: String, Hashable, Sendable, CaseIterable {
  /// A WiFi network that this machine takes part in.
  case wifi
  /// A cable: Ethernet or InfiniBand.
  case wired
  /// A cellular modem.
  case wwan
  /// A Bluetooth device.
  case bluetooth
  /// A link within this machine, such as the `veth` of a container.
  case virtual
  /// Any other link, such as a tunnel or a point-to-point link, or a bridge over more than one medium.
  case other
}

/// What a driver reports about its device outside netlink: the uevent and the links beside it in sysfs.
package struct DeviceTraits: Hashable, Sendable {
  /// The DEVTYPE of the uevent: `wlan`, `wwan`, `bluetooth`, `bridge` and so on.
  package var type: String?
  /// Whether the device belongs to a radio of cfg80211.
  package var isWireless = false
  /// Whether the device is a phone or modem that shares its connection over USB, and so looks like Ethernet.
  package var isTether = false
  /// What forbids the radio of the device to send; nil if nothing does.
  package var radioBlock: RadioBlock?
  /// Whether the user calls the link a modem. A modem behind pppd cannot be told from a PPPoE line.
  package var isModem = false

  package init(type: String? = nil, isWireless: Bool = false, isTether: Bool = false, radioBlock: RadioBlock? = nil) {
    self.type = type
    self.isWireless = isWireless
    self.isTether = isTether
    self.radioBlock = radioBlock
  }
}

extension Medium {
  // ARPHRD_* of <linux/if_arp.h>.
  private static let ethernet: UInt16 = 1
  private static let infiniband: UInt16 = 32
  private static let rawIP: UInt16 = 519
  private static let phonetPipe: UInt16 = 530
  private static let ppp: UInt16 = 512

  /// Returns the medium of a link that stands on no other link.
  package static func classify(
    name: String, kind: String?, hardwareType: UInt16, device: DeviceTraits, wireless: WirelessLink? = nil
  ) -> Medium {
    recognize(name: name, kind: kind, hardwareType: hardwareType, device: device, wireless: wireless).medium
  }

  /// Returns the medium and the mark that it was recognized by. The first rule that matches decides.
  ///
  /// WWAN comes first because only its DEVTYPE tells a USB modem from Ethernet.
  package static func recognize(
    name: String, kind: String?, hardwareType: UInt16, device: DeviceTraits, wireless: WirelessLink?
  ) -> (medium: Medium, mark: MediumMark) {
    if let mark = modemMark(name: name, kind: kind, hardwareType: hardwareType, device: device) { return (.wwan, mark) }
    // An access point is no way out, and a monitor only listens.
    if let wireless { return (wireless.isMediumWiFi ? .wifi : .other, .radio(wireless.mode)) }
    if device.isWireless { return (.wifi, .sysfsRadio) }
    switch device.type {
    case "wlan"?: return (.wifi, .deviceType("wlan"))
    case "bluetooth"?: return (.bluetooth, .deviceType("bluetooth"))
    default: break
    }
    // A modem behind pppd and a PPPoE line look the same.
    if hardwareType == Self.ppp { return (.other, .hardwareType(hardwareType)) }
    if let kind, Self.hardwareKinds.contains(kind) { return (.wired, .kind(kind)) }
    if let kind { return (kind == "veth" ? .virtual : .other, .kind(kind)) }
    switch (hardwareType, device.type) {
    case (Self.infiniband, _): return (.wired, .hardwareType(hardwareType))
    case (Self.ethernet, nil): return (.wired, .plainEthernet)
    case (Self.ethernet, let type?):
      return (type == "gadget" || type == "dsa" ? .wired : .other, .deviceType(type))
    default: return (.other, .hardwareType(hardwareType))
    }
  }

  /// The kinds whose links are hardware: the ports of a switch since Linux 6.1, and InfiniBand.
  static let hardwareKinds = ["dsa", "ipoib"]

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
  /// The mark that the link's own medium was recognized by, whatever the link stands on.
  package var mediumMark: MediumMark {
    Medium.recognize(name: name, kind: kind, hardwareType: hardwareType, device: device, wireless: wireless).mark
  }
}

/// The mark that a medium was recognized by.
package enum MediumMark: Hashable, Sendable {
  /// The user's configuration.
  case user
  /// The driver's kind (IFLA_INFO_KIND).
  case kind(String)
  /// The DEVTYPE in the uevent.
  case deviceType(String)
  /// The hardware type: ARPHRD_* of <linux/if_arp.h>.
  case hardwareType(UInt16)
  /// The name of the link.
  case name
  /// The mode of the radio, as nl80211 reports it.
  case radio(WirelessLink.Mode)
  /// A radio that sysfs names for the link.
  case sysfsRadio
  /// Ethernet without any other mark.
  case plainEthernet
}

/// What a link stands on, by its driver's kind.
package enum LinkRole: Hashable, Sendable {
  /// Hardware, or software that stands on nothing else of this machine.
  case base
  /// The link packs its traffic up and sends it over another link, which only the routes tell.
  case tunnel(TunnelKind)
  /// The link stands on one other link, which the kernel names.
  case upper
  /// The link stands on its ports: the links whose master it is.
  case master
  /// The link leads nowhere: what is sent there is dropped or turned back. Kill switches use one.
  case sink

  package init(kind: String?, hardwareType: UInt16, device: DeviceTraits) {
    switch kind {
    case "vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec": self = .upper
    case "bond", "bridge", "team", "vrf": self = .master
    case "dummy", "ifb", "nlmon": self = .sink
    default:
      // Modems without an Ethernet header look like tunnels but for their DEVTYPE.
      let looksLikeOne = device.type != "wwan" && Self.tunnelTypes.contains(hardwareType)
      let tunnel = kind.flatMap(TunnelKind.init) ?? (looksLikeOne ? .other : nil)
      self = tunnel.map(LinkRole.tunnel) ?? .base
    }
  }

  /// The kind of tunnel. Nil if the link is no tunnel.
  package var tunnelKind: TunnelKind? {
    if case .tunnel(let kind) = self { kind } else { nil }
  }

  /// ARPHRD_NONE, TUNNEL, TUNNEL6, SIT, IPGRE, IP6GRE of <linux/if_arp.h>.
  private static let tunnelTypes: [UInt16] = [0xfffe, 768, 769, 776, 778, 823]
}

/// The kind of a tunnel's link, named as in the kernel's IFLA_INFO_KIND.
public enum TunnelKind: String, Hashable, Sendable, CaseIterable {
  /// A tunnel, by the kernel's name for its driver. `tun` stands for both TUN and TAP devices.
  case wireguard, ovpn, tun, xfrm, vti, vti6, gre, gretap, erspan, ip6gre, ip6gretap, ip6erspan, ipip, sit, ip6tnl
  /// An overlay network over UDP, by the kernel's name for its driver.
  case vxlan, geneve
  /// A link that behaves like a tunnel but does not report which kind.
  case other = "tunnel"
}
