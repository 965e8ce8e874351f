import Netwatch

/// i3status-rust, `block = "custom"` with `json` and `persistent`.
///
/// No icon of its set: a name that the set lacks makes the block an error. The mark stands in the text.
final class I3statusRustFormat: BarFormat {
  var markup: BarMarkup { .pango }

  func begin(_ line: inout LineBuffer, _ state: BarState) {
    line.append(#"{"icon":"","state":""#)
    line.append(Self.colorState(of: state))
    line.append(#"","text":""#)
  }

  private static func colorState(of state: BarState) -> StaticString {
    guard state.usesColor, !state.isHidden else { return "Idle" }
    return switch state.condition {
    case .online: state.path.isExpensive ? "Warning" : "Good"
    case .portal, .noInternet: "Warning"
    case .offline: "Critical"
    case .unknown: "Idle"
    }
  }

  func append(_ text: borrowing LineBuffer, _ range: Range<Int>, to line: inout LineBuffer) {
    for position in range { line.append(pango: text[position]) }
  }

  func append(literal byte: UInt8, isInTag: Bool, to line: inout LineBuffer) { line.append(json: byte) }

  func end(_ line: inout LineBuffer, _ state: BarState) {
    line.append(#"","short_text":""#)
    if !state.isHidden { line.append(text: state.word) }
    line.append("\"}\n")
  }
}
