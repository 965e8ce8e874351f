/// What the kernel's nl80211 says of a link.
package struct WirelessLink: Hashable, Sendable {
  /// What the radio is used for.
  package enum Mode: Hashable, Sendable, CaseIterable {
    case station, p2pClient, adHoc, mesh, accessPoint, monitor, other
  }

  package let mode: Mode
  /// The network it belongs to. Nil while it belongs to none, and where the name is not known.
  package let ssid: SSID?
  /// What the access point sends that says its network is metered; nil if nothing does.
  package let metered: MeteredMark?

  package init(mode: Mode, ssid: SSID? = nil, metered: MeteredMark? = nil) {
    self.mode = mode
    self.ssid = ssid
    self.metered = metered
  }

  /// It joins the network of an access point.
  package var isStation: Bool { mode == .station || mode == .p2pClient }

  /// Its traffic reaches others over a wireless network that it takes part in. An access point is the near end of one, and
  /// a monitor only listens.
  package var isMediumWiFi: Bool {
    switch mode {
    case .station, .p2pClient, .adHoc, .mesh: true
    case .accessPoint, .monitor, .other: false
    }
  }
}

extension WirelessLink.Mode {
  /// From NL80211_IFTYPE_* of <linux/nl80211.h>. Those that are missing here, or not known yet, are ``other``.
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
