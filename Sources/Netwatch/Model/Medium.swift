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
  /// The user says that it is a modem, as one behind pppd can not be told from a PPPoE line.
  package var isModem = false

  package init(type: String? = nil, isWireless: Bool = false, isTether: Bool = false) {
    self.type = type
    self.isWireless = isWireless
    self.isTether = isTether
  }
}

extension Medium {
  /// Numbers of <linux/if_arp.h>.
  private enum HardwareType {
    static let ethernet: UInt16 = 1
    static let infiniband: UInt16 = 32
    static let rawIP: UInt16 = 519
    static let phonetPipe: UInt16 = 530
    static let ppp: UInt16 = 512
  }

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
    if hardwareType == HardwareType.ppp { return (.other, .hardwareType(hardwareType)) }
    if let kind { return (kind == "veth" ? .virtual : .other, .kind(kind)) }
    switch (hardwareType, device.type) {
    case (HardwareType.infiniband, _): return (.wired, .hardwareType(hardwareType))
    case (HardwareType.ethernet, nil): return (.wired, .plainEthernet)
    case (HardwareType.ethernet, let type?):
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
    case HardwareType.rawIP, HardwareType.phonetPipe: return .hardwareType(hardwareType)
    case HardwareType.ethernet:
      // Modem drivers of phones that set neither kind nor DEVTYPE.
      let isPhone = name.hasPrefix("rmnet") || name.hasPrefix("rev_rmnet") || name.hasPrefix("ccmni")
      return kind == nil && isPhone ? .name : nil
    default: return nil
    }
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
