import Netwatch

/// conky, `execpi` and `execp`, which obey what is printed.
final class ConkyFormat: TaggedFormat {
  var markup: BarMarkup { BarMarkup(opening: "${", closing: "}", doubled: "$") }
  var colorTag: (before: StaticString, after: StaticString, end: StaticString) { ("${color ", "}", "${color}") }

  /// `#` would begin a comment.
  func append(_ text: borrowing LineBuffer, _ range: Range<Int>, to line: inout LineBuffer) {
    for position in range {
      switch text[position] {
      case UInt8(ascii: "$"): line.append("$$")
      case UInt8(ascii: "#"): line.append("\\#")
      case let byte: line.append(byte)
      }
    }
  }
}
