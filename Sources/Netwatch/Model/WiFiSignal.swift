/// The strength at which a wireless link receives its network.
public struct WiFiSignal: Hashable, Sendable {
  /// The power of the last reception in dBm (decibels over a milliwatt): about -30 beside the access point, -90 at the edge.
  public let dBm: Int

  /// Creates a signal from its power in dBm.
  public init(dBm: Int) { self.dBm = dBm }

  /// The signal in per cent: 0 at -100 dBm, 100 at -50 dBm, and linear between.
  ///
  /// No standard defines a percentage of a signal. These figures are those of Windows, by the documentation of
  /// `wlanSignalQuality` in `WLAN_ASSOCIATION_ATTRIBUTES`; NetworkManager and i3status have 100 at -20 dBm.
  public var percent: Int { 2 * (min(max(dBm, -100), -50) + 100) }
}
