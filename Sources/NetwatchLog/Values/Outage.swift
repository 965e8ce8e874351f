/// A time in which the network was not reachable: from the change that lost the path to the one that restored it.
package struct Outage: Hashable, Sendable {
  /// How an outage has ended.
  package enum Ending: String, Hashable, Sendable {
    /// The path came back, and the log has the time.
    case seen
    /// The end is not known, because nothing watched: netwatch or its writer had ended, or the machine had lost power.
    case unseen
    /// The outage continues, and netwatch watches.
    case ongoing
  }

  /// The beginning, in microseconds since 1970, by the wall clock at that time.
  package var began: Int64
  /// The time that it lasted while the machine was awake, in microseconds of the monotonic clock. If the end was not seen, it
  /// lasted at least this long.
  package var length: Int64
  /// The reason for the loss of the path, as a word of the stream.
  package var reason: String
  /// The path that was lost; nil if that is not known.
  package var lost: LogState?
  /// Whether the log has the time of the beginning. If not, the outage began before netwatch watched.
  package var isBeginningSeen: Bool
  /// How the outage has ended.
  package var ending: Ending

  /// The end or the last time at which it was seen, in microseconds since 1970.
  package var end: Int64 { began.addingSaturated(length) }
}
