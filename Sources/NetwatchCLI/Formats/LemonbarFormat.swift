import Netwatch

/// lemonbar, on its standard input.
final class LemonbarFormat: BarFormat {
  var markup: BarMarkup { BarMarkup(opening: "%{", closing: "}", doubled: "%") }

  func begin(_ line: inout LineBuffer, _ state: BarState) {
    guard state.usesColor, !state.isHidden else { return }
    line.append("%{F#")
    line.append(state.color)
    line.append("}")
  }

  func append(_ text: borrowing LineBuffer, _ range: Range<Int>, to line: inout LineBuffer) {
    for position in range {
      if text[position] == UInt8(ascii: "%") { line.append("%") }
      line.append(text[position])
    }
  }

  func end(_ line: inout LineBuffer, _ state: BarState) {
    if state.usesColor, !state.isHidden { line.append("%{F-}") }
    line.append("\n")
  }
}
