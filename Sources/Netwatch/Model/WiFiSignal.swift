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
