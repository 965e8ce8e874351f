/// What the kernel's nl80211 says of a link.
package struct WirelessLink: Hashable, Sendable {
  /// What the radio is used for.
  package enum Mode: Hashable, Sendable, CaseIterable {
    case station, p2pClient, adHoc, mesh, accessPoint, monitor, other
  }

  package let mode: Mode
  /// The network it belongs to. Nil while it belongs to none, and where the name is not known.
  package let ssid: SSID?

  package init(mode: Mode, ssid: SSID? = nil) {
    self.mode = mode
    self.ssid = ssid
  }

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

/// How strongly a wireless link hears the network.
public struct WiFiSignal: Hashable, Sendable {
  /// The power of what was received last, in decibels over a milliwatt: about -30 beside the access point, -90 at the edge.
  public let dBm: Int

  public init(dBm: Int) { self.dBm = dBm }

  /// 0 at -100 dBm, 100 at -50 dBm, and straight between.
  ///
  /// No standard says what a percentage of a signal is. This is what Windows shows, by the documentation of
  /// `wlanSignalQuality` in `WLAN_ASSOCIATION_ATTRIBUTES`; NetworkManager and i3status have 100 at -20 dBm.
  public var percent: Int { 2 * (min(max(dBm, -100), -50) + 100) }
}
