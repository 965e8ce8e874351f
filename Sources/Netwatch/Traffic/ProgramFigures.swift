/// The bytes that the TCP connections of each program have carried since counting began, and their current rates.
package struct ProgramFigures: Hashable, Sendable {
  /// The payload in both directions.
  package struct Traffic: Hashable, Sendable {
    /// The bytes that were received.
    package var received: UInt64 = 0
    /// The bytes that were sent.
    package var sent: UInt64 = 0
    /// The received bits per second since the figures before. Nil if the rate is not known.
    package var receivedBitsPerSecond: UInt64?
    /// The sent bits per second since the figures before. Nil if the rate is not known.
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

    /// Returns how much these counters exceed others. A counter that is lower adds nothing.
    func beyond(_ former: Traffic) -> Traffic {
      Traffic(
        received: received - min(received, former.received), sent: sent - min(sent, former.sent))
    }
  }

  /// A program: all its processes of one user.
  package struct Program: Hashable, Sendable {
    /// The name that `ps` shows. Nil stands for all programs of a user that cannot be inspected.
    package let name: String?
    /// The id of the user that the connections belong to.
    package let user: UInt32
    package var traffic = Traffic()
    /// The number of connections that have a request in flight.
    package var inFlight = 0

    package init(name: String?, user: UInt32) {
      self.name = name
      self.user = user
    }
  }

  /// The programs that have carried something or have a request in flight, in no order.
  package var programs: [Program] = []
  /// The traffic of connections that were never seen while they were open, so that their programs are not known.
  package var shortLived = Traffic()
  /// The traffic of the link that was not payload of TCP: an estimate. Nil if no link was counted.
  package var other: Traffic?
  /// The number of times that the kernel had no room to report the ends of connections.
  package var overruns: UInt64 = 0

  package init() {}
}

extension UInt64 {
  /// Returns the sum, or the largest number if the sum is larger.
  package func addingSaturated(_ other: UInt64) -> UInt64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? .max : sum
  }
}
