/// Delays that callers choose, and clocks that have to hold what comes of them.
extension Duration {
  /// A hundred years: as good as for ever, and far from every overflow.
  package static var longestDelay: Duration { .seconds(3_155_760_000) }

  /// The same, shortened to ``longestDelay``. What is below zero is no delay.
  package var asDelay: Duration { min(max(self, .zero), .longestDelay) }
}
