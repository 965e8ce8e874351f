// Strangers can choose the names of links, networks and files, and servers send texts of their own. One rule decides which
// characters must not reach a reader unchanged: a terminal shows a question mark instead, a bar leaves them out, and JSON
// writes them as `\uXXXX`.

extension Unicode.Scalar {
  /// Whether the character could move the cursor, end the line, turn the direction of the text, or show nothing.
  ///
  /// These are control and format characters, separators of lines, private use, and what Unicode has not assigned. The two
  /// joiners (U+200C, U+200D) do not count, because scripts and emoji need them.
  package var isUnsafeInTerminal: Bool {
    // Most text is ASCII.
    if value < 0x7f { return value < 0x20 }
    switch properties.generalCategory {
    case .format: return value != 0x200c && value != 0x200d
    case .control, .lineSeparator, .paragraphSeparator, .privateUse, .unassigned, .surrogate: return true
    default: return false
    }
  }
}

extension StringProtocol {
  /// The text for a terminal: each character that ``Unicode/Scalar/isUnsafeInTerminal`` is replaced by `?`.
  package var sanitizedForTerminal: String {
    let text = String(self)
    guard text.unicodeScalars.contains(where: \.isUnsafeInTerminal) else { return text }
    var result = ""
    for scalar in text.unicodeScalars { result.unicodeScalars.append(scalar.isUnsafeInTerminal ? "?" : scalar) }
    return result
  }
}

extension String {
  /// The code of the stream as words, such as `no carrier` for `no_carrier`.
  package var words: String {
    String(
      decoding: utf8.map { $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
  }
}
