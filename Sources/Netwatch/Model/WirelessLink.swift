/// What the kernel's nl80211 reports about a link.
package struct WirelessLink: Hashable, Sendable {
  /// What the radio is used for.
  package enum Mode: Hashable, Sendable, CaseIterable {
    case station, p2pClient, adHoc, mesh, accessPoint, monitor, other
  }

  /// What the radio is used for.
  package let mode: Mode
  /// The name of the network that the link belongs to. Nil if it belongs to none, or if the name is not known.
  package let ssid: SSID?
  /// The element sent by the access point that marks its network as metered. Nil if there is none.
  package let metered: MeteredMark?

  package init(mode: Mode, ssid: SSID? = nil, metered: MeteredMark? = nil) {
    self.mode = mode
    self.ssid = ssid
    self.metered = metered
  }

  /// Whether the link joins the network of an access point.
  package var isStation: Bool { mode == .station || mode == .p2pClient }

  /// Whether the link's traffic reaches others over a wireless network. An access point is the near end of one, and a monitor
  /// only listens.
  package var isMediumWiFi: Bool {
    switch mode {
    case .station, .p2pClient, .adHoc, .mesh: true
    case .accessPoint, .monitor, .other: false
    }
  }
}

extension WirelessLink.Mode {
  /// Creates a mode from NL80211_IFTYPE_* of <linux/nl80211.h>. Types that are not listed here are ``other``.
  package init(interfaceType: UInt32) {
    switch interfaceType {
    case 1: self = .adHoc
    case 2: self = .station
    // An access point, its links per station, and the group owner of a P2P group.
    case 3, 4, 9: self = .accessPoint
    case 6: self = .monitor
    case 7: self = .mesh
    case 8: self = .p2pClient
    default: self = .other
    }
  }
}
