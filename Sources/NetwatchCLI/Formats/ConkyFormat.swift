import Netwatch

/// conky, `execpi` and `execp`, which obey what is printed.
final class ConkyFormat: BarFormat {
  var markup: BarMarkup { BarMarkup(opening: "${", closing: "}", doubled: "$") }

  func begin(_ line: inout LineBuffer, _ state: BarState) {
    guard state.usesColor, !state.isHidden else { return }
    line.append("${color ")
    line.append(state.color)
    line.append("}")
  }

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

  func end(_ line: inout LineBuffer, _ state: BarState) {
    if state.usesColor, !state.isHidden { line.append("${color}") }
    line.append("\n")
  }
}
