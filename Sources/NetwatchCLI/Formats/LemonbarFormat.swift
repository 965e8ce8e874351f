import Netwatch

/// lemonbar, on its standard input.
final class LemonbarFormat: TaggedFormat {
  var markup: BarMarkup { BarMarkup(opening: "%{", closing: "}", doubled: "%") }
  var colorTag: (before: StaticString, after: StaticString, end: StaticString) { ("%{F#", "}", "%{F-}") }

  func append(_ text: borrowing LineBuffer, _ range: Range<Int>, to line: inout LineBuffer) {
    for position in range {
      if text[position] == UInt8(ascii: "%") { line.append("%") }
      line.append(text[position])
    }
  }
}
