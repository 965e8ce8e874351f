import Netwatch

/// i3blocks, `interval=persist` with `format=json` and `markup=pango`.
///
/// Version 1.4 copies the bytes of a string without decoding them, so that there may be no escapes of JSON: what would need
/// one is a character of Pango's.
final class I3blocksFormat: BarFormat {
  var markup: BarMarkup { .pango }
  var getsClicks: Bool { true }

  func begin(_ line: inout LineBuffer, _ state: BarState) { line.append(#"{"full_text":""#) }

  func append(_ text: borrowing LineBuffer, _ range: Range<Int>, to line: inout LineBuffer) {
    for position in range {
      let byte = text[position]
      if byte == UInt8(ascii: "\\") { line.append("&#92;") } else { line.append(pango: byte) }
    }
  }

  func append(literal byte: UInt8, isInTag: Bool, to line: inout LineBuffer) {
    switch byte {
    case UInt8(ascii: "\""): line.append(isInTag ? "'" : "&quot;")
    case UInt8(ascii: "\\"): line.append("&#92;")
    default: line.append(byte)
    }
  }

  func end(_ line: inout LineBuffer, _ state: BarState) {
    line.append(#"","short_text":""#)
    if !state.isHidden { line.append(text: state.word) }
    if state.usesColor, !state.isHidden {
      line.append(##"","color":"#"##)
      line.append(state.color)
    }
    line.append("\",\"markup\":\"pango\"}\n")
  }
}
