import Netwatch
import NetwatchResolver

/// Parses the values of options. Each initializer throws a sentence about what is wrong with the text.

extension NetworkTarget {
  /// Parses an address, a host or a host with a port, such as `192.0.2.1`, `example.org` or `example.org:443`. Throws a
  /// `PlainError`.
  package init(checking text: String) throws(PlainError) {
    self = try NetworkTarget(text)
    if case .host(let name, _) = self { _ = try name.inASCII() }
  }
}

extension Duration {
  /// Parses a number of seconds from 0, such as `2` or `0.5`. Throws a `PlainError`.
  package init(checkingSeconds text: String) throws(PlainError) {
    guard let seconds = Double(text), seconds >= 0, seconds <= Duration.longestDelay / .seconds(1) else {
      throw PlainError("'\(text)' is not a number of seconds, 0 or more; write 2 or 0.5.")
    }
    self = .seconds(seconds)
  }
}
