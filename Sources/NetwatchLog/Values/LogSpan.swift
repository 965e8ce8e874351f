/// A span of time without a change.
package struct LogSpan: Hashable, Sendable {
  /// The state during a span.
  package enum Content: Hashable, Sendable {
    /// The machine was awake, and the path had this state.
    case state(LogState)
    /// The machine was suspended.
    case suspended
  }

  /// The beginning, in microseconds since 1970.
  package var began: Int64
  /// The length, in microseconds.
  package var length: Int64
  /// The state during the span.
  package let content: Content

  /// The end, in microseconds since 1970.
  package var end: Int64 { began.addingSaturated(length) }

  /// Returns the part of the span within a range of times in microseconds since 1970; nil if there is none.
  func clipped(to range: Range<Int64>) -> LogSpan? {
    let (first, last) = (max(began, range.lowerBound), min(end, range.upperBound))
    return first < last ? LogSpan(began: first, length: last - first, content: content) : nil
  }
}
