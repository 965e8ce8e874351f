import Netwatch

/// For dwm, GNU screen, and all else that shows a line as it stands. Screen would obey control characters, which are gone.
final class PlainFormat: BarFormat {
  var markup: BarMarkup { .none }

  func begin(_ line: inout LineBuffer, _ state: BarState) {}

  func append(_ text: borrowing LineBuffer, _ range: Range<Int>, to line: inout LineBuffer) {
    line.append(text, range)
  }

  func end(_ line: inout LineBuffer, _ state: BarState) { line.append("\n") }
}
