import Netwatch

/// What the log stores of a path: how the machine was reachable, and why that had changed.
package struct LogState: Hashable, Sendable {
  package var status: ReachabilityStatus
  /// A word of the stream, such as `no_carrier`. Later versions may have others.
  package var reason: String
  /// The kind of link that carried the traffic; nil if nothing did.
  package var medium: Medium?
  /// The name of the link; empty if there was none.
  package var interface: String
  /// The bytes of the name of the WiFi network, which a stranger has chosen; nil if there was none.
  package var ssid: SSID?
  package var isExpensive: Bool
  /// The name of the tunnel; empty if there was none.
  package var vpn: String

  package init(
    status: ReachabilityStatus, reason: String, medium: Medium? = nil, interface: String = "", ssid: SSID? = nil,
    isExpensive: Bool = false, vpn: String = ""
  ) {
    self.status = status
    self.reason = reason
    self.medium = medium
    self.interface = interface
    self.ssid = ssid
    self.isExpensive = isExpensive
    self.vpn = vpn
  }

  /// What a path says.
  init(_ path: NetworkPath, reason: String) {
    let verdict = path.verdict
    self.init(
      status: verdict.status, reason: reason, medium: verdict.medium, interface: verdict.interfaceName?.text ?? "",
      ssid: verdict.ssid, isExpensive: verdict.isExpensive, vpn: verdict.vpn?.interfaceName ?? "")
  }

  /// Whether the log knows that nothing could be reached.
  package var isOutage: Bool { status == .notReachable }

  /// The name of the network for people: of the WiFi network, else of the link. Nil if there was none.
  package var networkName: String? {
    if let ssid, !ssid.isHidden { return ssid.text }
    return interface.isEmpty ? nil : interface
  }
}
