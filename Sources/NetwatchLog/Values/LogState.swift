import Netwatch

/// The state of a path in the log: how the machine was reachable, and the reason for the change to this state.
package struct LogState: Hashable, Sendable {
  /// The status of the path.
  package var status: ReachabilityStatus
  /// The reason as a word of the stream, such as `no_carrier`. Later versions may have new words.
  package var reason: String
  /// The kind of the link that carried the path; nil if no link did.
  package var medium: Medium?
  /// The name of the link; empty if there was none.
  package var interface: String
  /// The bytes of the WiFi network's name, which outsiders choose; nil if there was no WiFi network.
  package var ssid: SSID?
  /// Whether the path was expensive.
  package var isExpensive: Bool
  /// The name of the tunnel; empty if there was none.
  package var vpn: String

  /// Creates a state.
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

  /// Creates the state of a path.
  init(_ path: NetworkPath, reason: String) {
    let verdict = path.verdict
    self.init(
      status: verdict.status, reason: reason, medium: verdict.medium, interface: verdict.interfaceName?.text ?? "",
      ssid: verdict.ssid, isExpensive: verdict.cost.expense != nil, vpn: verdict.vpn?.interfaceName ?? "")
  }

  /// Whether the log knows that the network was not reachable. False for an unknown status.
  package var isOutage: Bool { status == .notReachable }

  /// The name of the network for people: that of the WiFi network, else that of the link. Nil if there was none.
  package var networkName: String? {
    if let ssid, !ssid.isHidden { return ssid.text }
    return interface.isEmpty ? nil : interface
  }
}
