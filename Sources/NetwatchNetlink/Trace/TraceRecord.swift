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
  /// Those that netwatch had of its own.
  case namespaces(OwnNamespaces)
}

/// What decides the lines beside the input, such as an option of the command. The value is nil for one that is on or off.
package struct TraceSetting: Hashable, Sendable {
  package let key: String
  package let value: String?

  package init(_ key: String, _ value: String? = nil) {
    self.key = key
    self.value = value
  }
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
