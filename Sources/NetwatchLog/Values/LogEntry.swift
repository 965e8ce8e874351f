/// An entry of the log about one moment.
package struct LogEntry: Hashable, Sendable {
  /// The kind and data of an entry.
  package enum Content: Hashable, Sendable {
    /// The path has changed. `count` is the number of changes that are merged into this one because the writer was not fast
    /// enough, usually 1. The state is that of the last of them.
    case change(LogState, count: Int64)
    /// The machine was suspended for this many microseconds before this moment.
    case suspend(Int64)
  }

  /// The time of the entry.
  package let moment: LogMoment
  /// The kind and data of the entry.
  package let content: Content

  /// Creates an entry.
  package init(_ moment: LogMoment, _ content: Content) {
    self.moment = moment
    self.content = content
  }
}
