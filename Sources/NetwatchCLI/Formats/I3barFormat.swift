import Netwatch

/// i3bar and swaybar, as their `status_command`: an array without end, of arrays of blocks.
///
/// Without `click_events`, so that nobody has to read clicks; and with `markup` none, so that nothing is markup.
final class I3barFormat: BarFormat {
  var header: StaticString { "{\"version\":1}\n[\n" }
  var separator: StaticString { "," }
  var markup: BarMarkup { .none }

  private var scratch = LineBuffer(capacity: 64)

  func begin(_ line: inout LineBuffer, _ state: BarState) {
    line.append(#"[{"name":"netwatch","instance":""#)
    scratch.removeAll()
    scratch.append(clean: state.path.verdict.interfaceName)
    append(scratch, 0..<scratch.count, to: &line)
    line.append(#"","full_text":""#)
  }

  func append(_ text: borrowing LineBuffer, _ range: Range<Int>, to line: inout LineBuffer) {
    for position in range { line.append(json: text[position]) }
  }

  func append(literal byte: UInt8, isInTag: Bool, to line: inout LineBuffer) { line.append(json: byte) }

  func end(_ line: inout LineBuffer, _ state: BarState) {
    line.append(#"","short_text":""#)
    if !state.isHidden { line.append(text: state.word) }
    if state.usesColor, !state.isHidden {
      line.append(##"","color":"#"##)
      line.append(state.color)
    }
    line.append("\",\"markup\":\"none\"}]\n")
  }
}
