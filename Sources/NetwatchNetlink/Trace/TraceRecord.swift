import Netwatch

/// One record of a trace, as ``TraceFormat`` has it.
enum TraceRecord: Hashable, Sendable {
  case cause(NetlinkInput.Cause, Moment)
  /// One datagram came out of a socket.
  case datagram(NetlinkInput.Channel, [UInt8])
  /// The kernel dropped messages.
  case overrun(NetlinkInput.Channel)
  /// Nothing more could be read for now.
  case end(NetlinkInput.Channel)
  /// A system call failed.
  case failed(NetlinkInput.Channel, NetlinkInput.Call, code: CInt)
  case device(index: Int32, DeviceTraits)
  /// The DHCP lease of an address of a WiFi link says that the network is metered.
  case meteredLease(index: Int32, IPAddress)
  /// Those that netwatch had of its own.
  case namespaces(OwnNamespaces)
  /// What a look at the TCP connections says of one.
  case connection(ConnectionFacts)
  /// The look is over. If it is not whole, it says nothing.
  case connectionsEnd(isWhole: Bool)
}

extension NetlinkInput.Cause {
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
    }
  }
}

extension ReachabilityMachine.Timer {
  /// As a trace names it.
  var name: String {
    switch self {
    case .hold: "hold"
    case .retry: "retry"
    case .resolution: "resolution"
    case .hostRoutes: "host-routes"
    case .expiry: "expiry"
    }
  }
}
