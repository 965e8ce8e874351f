/// The run of one writer: the time in which it watches.
package struct LogRun: Hashable, Sendable {
  /// The number of the run.
  package let id: Int64
  /// The last time at which the writer is known to have run, in microseconds since 1970.
  package var seen: Int64
  /// The last time at which the writer is known to have run, in microseconds of the monotonic clock.
  package var seenMonotonic: Int64
  /// Whether the writer runs now.
  package var isLive: Bool

  /// Creates a run.
  package init(id: Int64, seen: Int64, seenMonotonic: Int64, isLive: Bool) {
    (self.id, self.seen, self.seenMonotonic, self.isLive) = (id, seen, seenMonotonic, isLive)
  }
}
