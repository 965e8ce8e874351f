/// The time in which one writer has watched.
package struct LogRun: Hashable, Sendable {
  package let id: Int64
  /// When the writer was certainly still there, in microseconds since 1970.
  package var seen: Int64
  /// The same by the monotonic clock.
  package var seenMonotonic: Int64
  /// Whether the writer is there now.
  package var isLive: Bool

  package init(id: Int64, seen: Int64, seenMonotonic: Int64, isLive: Bool) {
    (self.id, self.seen, self.seenMonotonic, self.isLive) = (id, seen, seenMonotonic, isLive)
  }
}
