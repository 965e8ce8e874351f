package struct WirelessLink: Hashable, Sendable {
  package enum Mode: Hashable, Sendable {
    case station, p2pClient, adHoc, mesh, accessPoint, monitor, other
    package var isWayOut: Bool { [.station, .p2pClient, .adHoc, .mesh].contains(self) }
  }
  package var mode: Mode
  package var ssid: SSID?
  package init(mode: Mode, ssid: SSID?) { self.mode = mode; self.ssid = ssid }
}
public struct WiFiSignal: Hashable, Sendable {
  public let dBm: Int
  public var percent: Int { min(100, max(0, 2 * (dBm + 100))) }
  package init(dBm: Int) { self.dBm = dBm }
}
