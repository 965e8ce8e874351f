/// A wireless network, as access points and stations have it in their configuration.
struct GuestNetwork {
  /// A name is bytes, not text.
  let name: [UInt8]
  var isOpen = true
  /// Its name is not in its beacons.
  var isHidden = false
  /// Elements that its beacons have besides, in hexadecimal digits.
  var vendorElements = ""

  static let home = GuestNetwork(name: Array("home".utf8), isOpen: false)

  var hexadecimalName: String {
    name.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  /// The key itself: to make one of a passphrase takes a while.
  private static let key = String(repeating: "5c", count: 32)

  /// For hostapd.
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
      """
  }

  /// For wpa_supplicant.
  func station(control: String) -> String {
    """
    ctrl_interface=\(control)
    p2p_disabled=1
    network={
      ssid=\(hexadecimalName)
      scan_ssid=\(isHidden ? 1 : 0)
      scan_freq=2412 2437
      \(isOpen ? "key_mgmt=NONE" : "psk=\(Self.key)")
    }

    """
  }
}
