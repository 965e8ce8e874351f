/// A WiFi network, as the configurations of access points and stations describe it.
struct GuestNetwork {
  /// The bytes of the network's name, which need not be text.
  let name: [UInt8]
  var isOpen = true
  /// Whether the network's name is left out of its beacons.
  var isHidden = false
  /// Elements that are added to the network's beacons, in hexadecimal digits. Default: none.
  var vendorElements = ""
  /// Further lines of hostapd's configuration. Default: none.
  var policy = ""
  /// The key of the station, if it is a wrong one.
  var wrongKey: String?

  static let home = GuestNetwork(name: Array("home".utf8), isOpen: false)

  var hexadecimalName: String {
    name.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// The key that hostapd and wpa_supplicant use. They need a while to derive one from a passphrase.
  private static let key = String(repeating: "5c", count: 32)

  /// Returns the configuration of hostapd for an access point of this network.
  func accessPoint(interface: String, channel: Int, bridge: String, control: String) -> String {
    let security = "wpa=2\nwpa_key_mgmt=WPA-PSK\nrsn_pairwise=CCMP\nwpa_psk=\(Self.key)\n"
    return """
      driver=nl80211
      interface=\(interface)
      bridge=\(bridge)
      ctrl_interface=\(control)
      hw_mode=g
      channel=\(channel)
      ssid2=\(hexadecimalName)
      ignore_broadcast_ssid=\(isHidden ? 1 : 0)
      \(vendorElements.isEmpty ? "" : "vendor_elements=\(vendorElements)")
      \(isOpen ? "" : security)
      \(policy)
      """
  }

  /// Returns the configuration of wpa_supplicant for a station of this network.
  func station(control: String) -> String {
    """
    ctrl_interface=\(control)
    p2p_disabled=1
    network={
      ssid=\(hexadecimalName)
      scan_ssid=\(isHidden ? 1 : 0)
      scan_freq=2412 2437
      \(isOpen ? "key_mgmt=NONE" : "psk=\(wrongKey ?? Self.key)")
    }

    """
  }
}
