import NetlinkWire
import Netwatch

/// One record of a trace; see ``TraceFormat``.
enum TraceRecord: Hashable, Sendable {
  case cause(KernelInterface.WakeReason, EventTimestamp)
  /// One datagram was read from a socket.
  case datagram(NetlinkTransport.Channel, [UInt8])
  /// The kernel dropped messages.
  case overrun(NetlinkTransport.Channel)
  /// Nothing more could be read for now.
  case end(NetlinkTransport.Channel)
  /// A system call failed.
  case failed(NetlinkTransport.Channel, NetlinkTransport.Call, code: CInt)
  case device(index: Int32, DeviceTraits)
  /// The DHCP lease of an address of a WiFi link marks the network as metered.
  case meteredLease(index: Int32, InternetAddress)
  /// The namespaces that belong to netwatch alone.
  case namespaces(IsolatedNamespaces)
  /// A change of links is news in this respect.
  case news(ReachabilityReason)
  /// What was found out apart from netlink, from now on.
  case findings(JSONValue)
  /// One TCP connection of a look.
  case connection(ConnectionFacts)
  /// The end of a look. If the list is incomplete, the look has no result.
  case connectionsEnd(isWhole: Bool)
}

extension KernelInterface.WakeReason {
  var kind: StaticString {
    switch self {
    case .start: "start"
    case .turn: "turn"
    case .timer: "timer"
    case .resumed: "resumed"
    case .resolved: "resolved"
    case .unresolved: "unresolved"
    case .sampling: "sampling"
    case .signal: "signal"
    case .quality: "quality"
    case .leases: "leases"
    case .found: "found"
    }
  }
}

extension ReachabilityMachine.Timer {
  /// The name of the timer in a trace.
  var name: String {
    switch self {
    case .hold: "hold"
    case .retry: "retry"
    case .resolution: "resolution"
    case .hostRoutes: "host-routes"
    case .expiry: "expiry"
    case .recheck: "recheck"
    }
  }
}
