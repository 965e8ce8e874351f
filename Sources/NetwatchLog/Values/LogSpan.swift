/// A time without a change.
package struct LogSpan: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    case state(LogState)
    case suspended
  }

  /// When it began, in microseconds since 1970.
  package var began: Int64
  /// In microseconds.
  package var length: Int64
  package let content: Content

  package var end: Int64 { began.addingSaturated(length) }

  /// The part that lies within a range of moments; nil if there is none.
  func clipped(to range: Range<Int64>) -> LogSpan? {
    let (first, last) = (max(began, range.lowerBound), min(end, range.upperBound))
    return first < last ? LogSpan(began: first, length: last - first, content: content) : nil
  }
}
