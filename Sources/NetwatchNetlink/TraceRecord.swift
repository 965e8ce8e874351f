import Netwatch

/// One record of a trace, as ``TraceFormat`` has it.
enum TraceRecord: Hashable, Sendable {
  case cause(TraceCause, NetlinkReachability.Moment)
  case input(TraceChannel, TraceInput)
  case device(index: Int32, DeviceTraits)
  /// Those that netwatch had of its own.
  case namespaces(OwnNamespaces)
}

/// What made netwatch look at the kernel. Everything else in a trace follows from one.
package enum TraceCause: Hashable, Sendable {
  /// The beginning, or an order to read everything again.
  case start
  /// A socket of events became readable.
  case turn(TraceChannel)
  case timer(ReachabilityMachine.Timer)
  /// The machine was suspended.
  case resumed
  /// The addresses of the target's host, the best one first.
  case resolved([IPAddress])
  /// Nobody could be asked for them.
  case unresolved
}

/// A socket of netlink.
package enum TraceChannel: String, Hashable, Sendable, CaseIterable {
  /// Of rtnetlink's notifications.
  case event
  /// Of the answers to what rtnetlink was asked.
  case reply
  /// The same two of nl80211.
  case wirelessEvent = "wireless-event"
  case wirelessReply = "wireless-reply"
}

/// What came out of a socket, or did not go in.
enum TraceInput: Hashable, Sendable {
  /// One datagram.
  case datagram([UInt8])
  /// The kernel dropped messages.
  case overrun
  /// Nothing more can be read for now.
  case end
  /// A system call failed.
  case failed(TraceCall, code: CInt)
}

/// A system call on a socket that the machine hears of when it fails.
enum TraceCall: String, Hashable, Sendable, CaseIterable {
  case receive = "recv"
  case send = "send"
  case join = "join"
  case attach = "attach"

  /// As errors name it.
  var operation: String {
    switch self {
    case .receive, .send: rawValue
    case .join: "setsockopt(NETLINK_ADD_MEMBERSHIP)"
    case .attach: "setsockopt(SO_ATTACH_FILTER)"
    }
  }
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

extension TraceCause {
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
