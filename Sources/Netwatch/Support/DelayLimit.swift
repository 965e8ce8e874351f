/// Delays that callers choose, kept within what clocks can represent.
extension Duration {
  /// The longest delay, a hundred years: practically for ever, and far from every overflow.
  package static var longestDelay: Duration { .seconds(3_155_760_000) }

  /// The delay that this duration stands for: at least zero, at most ``longestDelay``.
  package var asDelay: Duration { min(max(self, .zero), .longestDelay) }
}
