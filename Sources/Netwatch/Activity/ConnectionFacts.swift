/// What one scan says of a TCP connection.
package struct ConnectionFacts: Hashable, Sendable {
  package enum Stage: Hashable, Sendable {
    case connecting
    case open
    /// We have said all, the other side has not: an answer may come.
    case halfClosed
    /// The other side has said all, or both have: only what is still queued moves.
    case ending
  }

  /// The kernel's name for it, never used again.
  package let cookie: UInt64
  package let stage: Stage
  /// A program here listened for it, so that requests come in by it; else they go out.
  package var isAccepted = false
  /// Of the socket; 0 where no program holds it any more.
  package var inode: UInt32 = 0
  /// Bytes that are written and not yet acknowledged.
  package var queued: UInt32 = 0
  package var bytesSent: UInt64 = 0
  package var bytesReceived: UInt64 = 0
  package var bytesAcknowledged: UInt64 = 0
  /// The user that the socket belongs to.
  package var user: UInt32 = 0
  /// The bytes that a program has read or can read, without what TCP counts for the end of the connection.
  package var payloadReceived: UInt64 = 0
  /// The bytes of a program that were sent at least once: each counts once, however often it was repeated.
  package var payloadSent: UInt64 = 0
  /// Ages in nanoseconds, exact to a tick of the kernel. Before anything was sent or received they tell of the beginning.
  package var sentAge: Int64 = 0
  package var receivedAge: Int64 = 0
  /// Since anything has come, if only an acknowledgement.
  package var heardAge: Int64 = 0
  /// While `connecting`, since the first attempt.
  package var attemptAge: Int64 = 0
  /// For how long something was queued, all in all.
  package var busyTime: Int64 = 0
  /// The smoothed round-trip time, in microseconds. 0 if none was measured.
  package var roundTripTime: UInt32 = 0
  /// The segments with data that were sent, each repetition included. This counter and the next two wrap around.
  package var segmentsSent: UInt32 = 0
  /// The segments that were sent again.
  package var segmentsRepeated: UInt32 = 0
  /// The segments that the other side says it has got twice.
  package var segmentsDuplicated: UInt32 = 0

  package init(cookie: UInt64, stage: Stage) {
    self.cookie = cookie
    self.stage = stage
  }
}
