import Netwatch
import NetwatchOptions

// The formats of bars that read blocks in JSON.

extension BarFormat {
  /// The format of i3bar and swaybar, for their `status_command`: an endless array of arrays of blocks.
  ///
  /// `click_events` is set only if a click can open a login page, so that the bar sends no other clicks. `markup` is none, so
  /// that no text is taken for markup.
  static let i3bar = BarFormat(
    header: "{\"version\":1}\n[\n", separator: ",", clickHeader: "{\"version\":1,\"click_events\":true}\n[\n",
    markup: BarMarkup(isBidirectional: true),
    begin: { line, state, scratch in
      line.append(#"[{"name":"netwatch","instance":""#)
      scratch.removeAll()
      scratch.append(clean: state.path.kernelName)
      for position in 0..<scratch.count { line.append(json: scratch[position]) }
      line.append(#"","full_text":""#)
    },
    append: { text, range, line in for position in range { line.append(json: text[position]) } },
    appendLiteral: { byte, _, line in line.append(json: byte) },
    end: { line, state, _ in
      line.appendShortText(of: state)
      line.append("\",\"markup\":\"none\"}]\n")
    })

  /// The format of i3blocks, for `interval=persist` with `format=json` and `markup=pango`.
  ///
  /// Version 1.4 copies the bytes of a string without decoding them, so the string must not contain JSON escapes. A character
  /// that would need one is written as an entity of Pango.
  static let i3blocks = BarFormat(
    getsClicks: true, markup: .pango, begin: { line, _, _ in line.append(#"{"full_text":""#) },
    append: { text, range, line in
      for position in range {
        let byte = text[position]
        if byte == UInt8(ascii: "\\") { line.append("&#92;") } else { line.append(pango: byte) }
      }
    },
    appendLiteral: { byte, isInTag, line in
      switch byte {
      case UInt8(ascii: "\""): line.append(isInTag ? "'" : "&quot;")
      case UInt8(ascii: "\\"): line.append("&#92;")
      default: line.append(byte)
      }
    },
    end: { line, state, _ in
      line.appendShortText(of: state)
      line.append("\",\"markup\":\"pango\"}\n")
    })

  /// The format of i3status-rust, for `block = "custom"` with `json` and `persistent`.
  ///
  /// The block names no icon, because a name that the bar's icon set lacks is an error. The mark is part of the text.
  static let i3statusRust = BarFormat(
    markup: .pango,
    begin: { line, state, _ in
      line.append(#"{"icon":"","state":""#)
      let color: StaticString =
        switch state.condition {
        case _ where !state.usesColor || state.isHidden: "Idle"
        case .online: state.path.isExpensive ? "Warning" : "Good"
        case .portal, .noInternet: "Warning"
        case .offline: "Critical"
        case .unknown: "Idle"
        }
      line.append(color)
      line.append(#"","text":""#)
    },
    append: { text, range, line in for position in range { line.append(pango: text[position]) } },
    appendLiteral: { byte, _, line in line.append(json: byte) },
    end: { line, state, _ in
      line.append(#"","short_text":""#)
      if !state.isHidden { line.append(text: state.word) }
      line.append("\"}\n")
    })
}

extension LineBuffer {
  /// Appends the text that i3's bars show if there is little room, and the colour.
  fileprivate mutating func appendShortText(of state: BarState) {
    append(#"","short_text":""#)
    if state.isHidden { return }
    append(text: state.word)
    if state.usesColor {
      append(##"","color":"#"##)
      append(state.color)
    }
  }
}
