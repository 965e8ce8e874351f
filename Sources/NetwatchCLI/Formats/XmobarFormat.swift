import Netwatch

/// xmobar, `CommandReader` and `PipeReader`.
final class XmobarFormat: TaggedFormat {
  var markup: BarMarkup { BarMarkup(opening: "<", closing: ">") }
  var colorTag: (before: StaticString, after: StaticString, end: StaticString) { ("<fc=#", ">", "</fc>") }

  /// Raw text, with its length in characters of Unicode in front.
  func append(_ text: borrowing LineBuffer, _ range: Range<Int>, to line: inout LineBuffer) {
    var scalars = 0
    for position in range where text[position] & 0xc0 != 0x80 { scalars += 1 }
    line.append("<raw=")
    line.appendDecimal(UInt64(scalars))
    line.append(":")
    line.append(text, range)
    line.append("/>")
  }
}
