// Links, networks and files may be named by strangers, and servers have words of their own. One rule says what must not reach
// a reader as it is: a terminal shows a question mark for it, a bar leaves it out, and JSON writes it as `\uXXXX`.

extension Unicode.Scalar {
  /// It could move the cursor, end the line, turn the direction of what follows, or stand for nothing that can be shown: control
  /// and format characters, separators of lines, private use, and what Unicode has not assigned. The two joiners (U+200C,
  /// U+200D) are none of them: scripts and pictures are written with them.
  package var steersText: Bool {
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
  /// For a terminal: with `?` in the place of each character that ``Unicode/Scalar/steersText``.
  package var harmless: String {
    // Nearly all text is harmless, and ASCII.
    if utf8.allSatisfy({ 0x20..<0x7f ~= $0 }) { return String(self) }
    var result = ""
    for scalar in unicodeScalars { result.unicodeScalars.append(scalar.steersText ? "?" : scalar) }
    return result
  }
}
