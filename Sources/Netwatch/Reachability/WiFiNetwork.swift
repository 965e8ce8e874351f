/// A WiFi network that this machine has joined.
public struct WiFiNetwork: Hashable, Sendable {
  /// Its name, which a stranger has chosen.
  public let ssid: SSID
  /// How this machine was connected to it when the path was published. Without the signal where the driver does not say it; the
  /// rest is there if ``MonitorConfiguration/wifi`` asks for it.
  public let connection: WiFiConnection

  /// How strong it was when the path was published. Nil where the driver does not say.
  public var signal: WiFiSignal? { connection.signal }
}
