/// What one scan reports about a TCP connection.
package struct ConnectionFacts: Hashable, Sendable {
  package enum Stage: Hashable, Sendable {
    case connecting
    case open
    /// This side has sent everything, the other side has not: a response may still come.
    case halfClosed
    /// The other side has sent everything, or both have: only queued data still moves.
    case ending
  }

  /// The kernel's name for the connection; never reused.
  package let cookie: UInt64
  package let stage: Stage
  /// Whether a program here listened for the connection. Requests then come in by it; otherwise they go out.
  package var isAccepted = false
  /// The inode of the socket; 0 if no program holds it any more.
  package var inode: UInt32 = 0
  /// The bytes that are written but not yet acknowledged.
  package var queued: UInt32 = 0
  package var bytesSent: UInt64 = 0
  package var bytesReceived: UInt64 = 0
  package var bytesAcknowledged: UInt64 = 0
  /// The user that the socket belongs to.
  package var user: UInt32 = 0
  /// The bytes that a program has read or can read, without what TCP counts for the end of the connection.
  package var payloadReceived: UInt64 = 0
  /// The bytes of a program that were sent at least once. Repetitions do not count.
  package var payloadSent: UInt64 = 0
  /// The age of the last sent byte in nanoseconds, as exact as a tick of the kernel. Before anything was sent or received,
  /// both ages are those of the connection.
  package var sentAge: Int64 = 0
  /// The age of the last received byte in nanoseconds, as exact as a tick of the kernel.
  package var receivedAge: Int64 = 0
  /// The time since anything arrived, including a bare acknowledgement, in nanoseconds.
  package var heardAge: Int64 = 0
  /// While `connecting`: the time since the first attempt, in nanoseconds.
  package var attemptAge: Int64 = 0
  /// The total time during which something was queued, in nanoseconds.
  package var busyTime: Int64 = 0
  /// The smoothed round-trip time in microseconds. 0 if none was measured.
  package var roundTripTime: UInt32 = 0
  /// The sent segments with data, including repetitions. This counter and the next two wrap around.
  package var segmentsSent: UInt32 = 0
  /// The segments that were sent again.
  package var segmentsRepeated: UInt32 = 0
  /// The segments that the other side reports to have got twice.
  package var segmentsDuplicated: UInt32 = 0

  package init(cookie: UInt64, stage: Stage) {
    self.cookie = cookie
    self.stage = stage
  }
}
