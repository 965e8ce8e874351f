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

  /// What a row of figures stands for.
  package enum Grouping: String, CaseIterable, Sendable {
    /// All processes of one user that have the same name now.
    case name
    /// A process.
    case pid
    /// All processes of one user in the same unit of systemd, or in the same container.
    case unit
  }

  /// A process, as /proc shows it now.
  package struct Process: Hashable, Sendable {
    package let id: Int32
    /// The time at which the process was started, in ticks since the start of the machine. With it, an ID is never another process's.
    package let start: UInt64
    /// The name that `ps` shows.
    package var name: String
    /// The unit or the container of the process; nil if it was not asked for.
    package let unit: String?

    package init(id: Int32, start: UInt64, name: String, unit: String? = nil) {
      (self.id, self.start, self.name, self.unit) = (id, start, name, unit)
    }
  }

  /// A row: a program, a process or a unit of one user.
  package struct Program: Hashable, Sendable {
    /// The name that `ps` shows. Nil stands for all programs of a user that cannot be inspected, and if rows are of units.
    package let name: String?
    /// The id of the user that the connections belong to.
    package let user: UInt32
    /// The process. Nil unless rows are of processes, and for those that have ended long ago.
    package let process: Int32?
    /// The unit or the container. Nil unless rows are of units, and if it cannot be inspected.
    package let unit: String?
    package var traffic = Traffic()
    /// The number of connections that have a request in flight.
    package var inFlight = 0

    package init(name: String?, user: UInt32, process: Int32? = nil, unit: String? = nil) {
      (self.name, self.user, self.process, self.unit) = (name, user, process, unit)
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
