/// A time in which nothing could be reached: from the change that took the path away to the one that brought it back.
package struct Outage: Hashable, Sendable {
  package enum Ending: String, Hashable, Sendable {
    /// The path came back, and the log has the moment.
    case seen
    /// Nobody watched when it came back: netwatch or its writer was ended, or the machine lost its power.
    case unseen
    /// It lasts, and netwatch watches.
    case ongoing
  }

  /// When it began, in microseconds since 1970, as the wall clock said then.
  package var began: Int64
  /// How long it lasted while the machine was awake, in microseconds by the monotonic clock. If its end was not seen, it lasted
  /// at least this long.
  package var length: Int64
  /// Why the path was lost, as a word of the stream.
  package var reason: String
  /// The path that was lost; nil if that is not known.
  package var lost: LogState?
  /// Whether the log has the moment when it began. If not, it began before netwatch watched.
  package var isBeginningSeen: Bool
  package var ending: Ending

  /// When it ended, or was seen last, in microseconds since 1970.
  package var end: Int64 { began.addingSaturated(length) }
}
