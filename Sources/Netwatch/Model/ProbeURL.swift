/// The URL of a server that is asked whether the internet is there.
package enum ProbeURL {
  /// Returns a URL as it is, if it can be one.
  ///
  /// - Throws: A `PlainError` with a sentence about what is wrong with it.
  @Sendable package static func checked(_ text: String) throws(PlainError) -> String {
    let scheme = ["http://", "https://"].first { text.lowercased().hasPrefix($0) }
    let rest = text.dropFirst(scheme?.count ?? 0)
    let isClean = text.unicodeScalars.allSatisfy { 0x20 < $0.value && $0.value < 0x7f }
    guard scheme != nil, isClean, let first = rest.first, !"/?#:@".contains(first) else {
      throw PlainError("'\(text.harmless)' is no URL; write one such as http://example.org/generate_204.")
    }
    return text
  }
}
