/// What the log stores about one moment.
package struct LogEntry: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    /// The path has changed. `count` is 1, or how many changes are merged into this one because the writer was not fast enough;
    /// the state is that of the last of them.
    case change(LogState, count: Int64)
    /// The machine was suspended for this many microseconds before this moment.
    case suspend(Int64)
  }

  package let moment: LogMoment
  package let content: Content

  package init(_ moment: LogMoment, _ content: Content) {
    self.moment = moment
    self.content = content
  }
}
