/// What the TCP connections of each program have carried since counting began, and how fast they do.
package struct ProgramFigures: Hashable, Sendable {
  /// Payload in both directions.
  package struct Traffic: Hashable, Sendable {
    /// The bytes that were received.
    package var received: UInt64 = 0
    /// The bytes that were sent.
    package var sent: UInt64 = 0
    /// Received bits per second since the figures before. Nil if that is not known.
    package var receivedBitsPerSecond: UInt64?
    /// Sent bits per second since the figures before. Nil if that is not known.
    package var sentBitsPerSecond: UInt64?

    package init(received: UInt64 = 0, sent: UInt64 = 0) {
      self.received = received
      self.sent = sent
    }

    /// Whether nothing was received or sent.
    package var isNothing: Bool { received == 0 && sent == 0 }

    mutating func add(_ other: Traffic) {
      received = received.addingSaturated(other.received)
      sent = sent.addingSaturated(other.sent)
    }

    /// What these counters say more than others did. A counter that says less adds nothing.
    func beyond(_ former: Traffic) -> Traffic {
      Traffic(
        received: received - min(received, former.received), sent: sent - min(sent, former.sent))
    }
  }

  /// A program: all its processes of one user.
  package struct Program: Hashable, Sendable {
    /// The name as `ps` has it. Nil stands for all programs of a user that cannot be looked into.
    package let name: String?
    /// The number of the user that the connections belong to.
    package let user: UInt32
    package var traffic = Traffic()
    /// The connections that have a request in flight.
    package var inFlight = 0

    package init(name: String?, user: UInt32) {
      self.name = name
      self.user = user
    }
  }

  /// The programs that have carried something or have something in flight, in no order.
  package var programs: [Program] = []
  /// The connections that nobody saw while they were open, so that their programs are not known.
  package var shortLived = Traffic()
  /// What the link carried without being payload of TCP: an estimate. Nil if no link was counted.
  package var other: Traffic?
  /// How often the kernel had no room to tell of the ends of connections.
  package var overruns: UInt64 = 0

  package init() {}
}

extension UInt64 {
  /// The sum, or the largest number if there is no room for it.
  package func addingSaturated(_ other: UInt64) -> UInt64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? .max : sum
  }
}
