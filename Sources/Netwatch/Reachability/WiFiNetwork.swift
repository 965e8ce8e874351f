/// A WiFi network that this machine has joined.
public struct WiFiNetwork: Hashable, Sendable {
  /// Its name, which a stranger has chosen.
  public let ssid: SSID
  /// How strong it was when the path was published. Nil where the driver does not say.
  public let signal: WiFiSignal?
}
