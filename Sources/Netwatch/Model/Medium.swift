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
  /// It is a phone that shares its connection over USB.
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

  /// The medium of a link that stands on no other; the first rule that matches decides.
  ///
  /// WWAN comes first because a USB modem looks like Ethernet but for its DEVTYPE.
  package static func classify(
    name: String, kind: String?, hardwareType: UInt16, device: DeviceTraits, wireless: WirelessLink? = nil
  ) -> Medium {
    if isWWAN(name: name, kind: kind, hardwareType: hardwareType, device: device) { return .wwan }
    // An access point is no way out, and a monitor is no link.
    if let wireless { return wireless.mode.isWayOut ? .wifi : .other }
    if device.isWireless || device.type == "wlan" { return .wifi }
    if device.type == "bluetooth" { return .bluetooth }
    // A modem behind pppd and a PPPoE line look the same.
    if kind == "ppp" || hardwareType == HardwareType.ppp { return .other }
    if hardwareType == HardwareType.infiniband { return .wired }
    if hardwareType == HardwareType.ethernet, kind == nil {
      switch device.type {
      case nil, "gadget", "dsa": return .wired
      default: return .other
      }
    }
    return kind == "veth" ? .virtual : .other
  }

  private static func isWWAN(
    name: String, kind: String?, hardwareType: UInt16, device: DeviceTraits
  ) -> Bool {
    if kind == "wwan" || kind == "rmnet" || device.type == "wwan" || device.isModem { return true }
    switch hardwareType {
    case HardwareType.rawIP, HardwareType.phonetPipe: return true
    case HardwareType.ethernet:
      // Modem drivers of phones that set neither kind nor DEVTYPE.
      return kind == nil && (name.hasPrefix("rmnet") || name.hasPrefix("rev_rmnet") || name.hasPrefix("ccmni"))
    default: return false
    }
  }
}
