import Netwatch

/// polybar, `custom/script` with `tail = true`.
final class PolybarFormat: TaggedFormat {
  var markup: BarMarkup { BarMarkup(opening: "%{", closing: "}") }
  var colorTag: (before: StaticString, after: StaticString, end: StaticString) { ("%{F#", "}", "%{F-}") }

  /// `%{` opens a tag, even behind another `%`; an offset of nothing between the two keeps it shut. What stands before may be
  /// the template's.
  func append(_ text: borrowing LineBuffer, _ range: Range<Int>, to line: inout LineBuffer) {
    for position in range {
      let byte = text[position]
      if byte == UInt8(ascii: "{"), line.trailing(UInt8(ascii: "%")) > 0 { line.append("%{O0}") }
      line.append(byte)
    }
  }

  /// A brace at the beginning may come behind a value's `%`.
  func append(literal byte: UInt8, isInTag: Bool, to line: inout LineBuffer) {
    if byte == UInt8(ascii: "{"), line.count == 0 { line.append("%{O0}") }
    line.append(byte)
  }
}
