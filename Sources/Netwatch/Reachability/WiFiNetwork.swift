/// A WiFi network that this machine has joined.
public struct WiFiNetwork: Hashable, Sendable {
  /// The name of the network, which a stranger has chosen.
  public let ssid: SSID
  /// The connection to the access point when the path was published.
  ///
  /// The signal is nil if the driver does not report it. The other properties are present only if
  /// ``MonitorConfiguration/wifi`` requests them.
  public let connection: WiFiConnection

  /// The signal when the path was published. Nil if the driver does not report it.
  public var signal: WiFiSignal? { connection.signal }
}

extension WiFiNetwork: CustomStringConvertible {
  /// The name and the signal, such as `“home”, -60 dBm (80 %)`.
  public var description: String { ssid.quoted + (signal.map { ", \($0)" } ?? "") }
}
