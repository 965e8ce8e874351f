import Netwatch
import NetwatchOptions

/// The format of a bar's lines. A line is what `begin` appends, then text and values, then what `end` appends.
struct BarFormat: Sendable {
  /// The text that is written before the first line, in a write of its own.
  var header: StaticString = ""
  /// The text before each line except the first.
  var separator: StaticString = ""
  /// The time after a change at which the line is written again; nil if the bar does not need that.
  var repetition: Duration?
  /// The header that requests clicks from the bar; nil if clicks cannot be requested.
  var clickHeader: StaticString?
  /// Whether the bar writes clicks to standard input even if they are not requested.
  var getsClicks = false
  /// A space as wide as a digit that the bar does not remove.
  var padding: StaticString = "\u{2007}"
  /// Whether the bar shows the strength of the WiFi signal with every template.
  var showsSignal = false
  /// The bar's own markup, which a template may contain.
  var markup = BarMarkup()
  /// Begins a line. `scratch` is a buffer for text that has to be composed first.
  var begin: @Sendable (_ line: inout LineBuffer, _ state: BarState, _ scratch: inout LineBuffer) -> Void = { _, _, _ in
  }
  /// Appends a part of `text`, which has no control characters, so that the bar shows it unchanged.
  var append: @Sendable (_ text: borrowing LineBuffer, _ range: Range<Int>, _ line: inout LineBuffer) -> Void = {
    text, range, line in line.append(text, range)
  }
  /// Appends a byte of the template's own text, which may be markup.
  var appendLiteral: @Sendable (_ byte: UInt8, _ isInTag: Bool, _ line: inout LineBuffer) -> Void = { byte, _, line in
    line.append(byte)
  }
  /// Ends the line, including its newline.
  var end: @Sendable (_ line: inout LineBuffer, _ state: BarState, _ scratch: inout LineBuffer) -> Void = {
    line, _, _ in line.append("\n")
  }

  /// Whether a value stands between U+2068 and U+2069, so that a name from right to left does not turn what stands beside it.
  ///
  /// - Parameters:
  ///   - fields: The fields, one of which the value is of.
  ///   - range: The place of the value in `values`.
  func isolates(_ fields: [BarField], _ values: borrowing LineBuffer, _ range: Range<Int>) -> Bool {
    markup.isBidirectional && fields.contains(where: \.isChosenByStrangers) && !values.isASCII(range)
  }

  /// The format of dwm and other programs that show a line unchanged.
  static let plain = BarFormat(padding: " ")
  /// The format of GNU screen, which would obey control characters, but the text has none. If two lines come within a second,
  /// screen may draw only the first, so the line is repeated.
  static let screen = BarFormat(repetition: .milliseconds(1100), padding: " ")
}

/// The parts of a template's own text that the bar does not show.
struct BarMarkup: Sendable {
  /// The text that begins a tag; nil if the bar has no tags.
  var opening: String?
  var closing: Character = " "
  /// The character that is written twice to be shown once; nil if there is none.
  var doubled: Character?
  /// Whether `&` begins an entity such as `&amp;`.
  var hasEntities = false
  /// Whether the bar orders the characters of a line by the Unicode bidirectional algorithm, as Pango does.
  fileprivate var isBidirectional = false

  static let pango = BarMarkup(opening: "<", closing: ">", hasEntities: true, isBidirectional: true)
}

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

// The formats of bars that colour a line with tags around it.

extension BarFormat {
  /// The format of polybar, for `custom/script` with `tail = true`.
  ///
  /// `%{` opens a tag, even after another `%`. An empty offset between the two characters prevents that. The `%` may be the end
  /// of the template's text before a value. It may also be the end of a value before text that begins with `{`.
  static let polybar: BarFormat = {
    var format = tagged("%{F#", "}", "%{F-}", BarMarkup(opening: "%{", closing: "}")) { text, range, line in
      for position in range {
        let byte = text[position]
        if byte == UInt8(ascii: "{"), line.trailing(UInt8(ascii: "%")) > 0 { line.append("%{O0}") }
        line.append(byte)
      }
    }
    format.appendLiteral = { byte, _, line in
      if byte == UInt8(ascii: "{"), line.count == 0 { line.append("%{O0}") }
      line.append(byte)
    }
    return format
  }()

  /// The format of lemonbar, for its standard input.
  static let lemonbar: BarFormat = {
    let markup = BarMarkup(opening: "%{", closing: "}", doubled: "%")
    var format = tagged("%{F#", "}", "%{F-}", markup) { text, range, line in
      for position in range {
        if text[position] == UInt8(ascii: "%") { line.append("%") }
        line.append(text[position])
      }
    }
    // The default font of lemonbar has no space as wide as a digit, and lemonbar keeps plain spaces.
    format.padding = " "
    return format
  }()

  /// The format of xmobar, for `CommandReader` and `PipeReader`: raw text after its length in Unicode scalars.
  static let xmobar = tagged("<fc=#", ">", "</fc>", BarMarkup(opening: "<", closing: ">")) { text, range, line in
    var scalars = 0
    for position in range where text[position] & 0xc0 != 0x80 { scalars += 1 }
    line.append("<raw=")
    line.appendDecimal(UInt64(scalars))
    line.append(":")
    line.append(text, range)
    line.append("/>")
  }

  /// The format of tmux, for `#(…)` in a status line.
  ///
  /// If a line comes within a second of the previous one, tmux does not draw it until something else comes. So the line is
  /// repeated.
  ///
  /// `##` stands for one `#`, but so would `####`, because tmux halves a run twice unless a tag follows. So an empty tag is
  /// added.
  static let tmux: BarFormat = {
    let markup = BarMarkup(opening: "#[", closing: "]", doubled: "#")
    var format = tagged("#[fg=#", "]", "#[default]", markup) { text, range, line in
      let sign = UInt8(ascii: "#")
      var length = 0
      for position in range {
        guard text[position] == sign else {
          if length > 1 { line.append("#[]") }
          length = 0
          line.append(text[position])
          continue
        }
        if length == 0, line.count > 0, line[line.count - 1] == sign { line.append("#[]") }
        line.append("##")
        length += 1
      }
      if length > 1 { line.append("#[]") }
    }
    format.repetition = .milliseconds(1100)
    return format
  }()

  /// The format of conky, for `execpi` and `execp`, which interpret the output. An unescaped `#` would begin a comment.
  static let conky = tagged("${color ", "}", "${color}", BarMarkup(opening: "${", closing: "}", doubled: "$")) {
    text, range, line in
    for position in range {
      switch text[position] {
      case UInt8(ascii: "$"): line.append("$$")
      case UInt8(ascii: "#"): line.append("\\#")
      case let byte: line.append(byte)
      }
    }
  }

  /// Returns a format that colours each line with tags.
  ///
  /// - Parameters:
  ///   - before: The text before the colour, at the beginning of the line.
  ///   - after: The text after the colour.
  ///   - last: The text that ends the colour, at the end of the line.
  private static func tagged(
    _ before: StaticString, _ after: StaticString, _ last: StaticString, _ markup: BarMarkup,
    append: @escaping @Sendable (borrowing LineBuffer, Range<Int>, inout LineBuffer) -> Void
  ) -> BarFormat {
    BarFormat(
      markup: markup,
      begin: { line, state, _ in
        guard state.usesColor, !state.isHidden else { return }
        line.append(before)
        line.append(state.color)
        line.append(after)
      }, append: append,
      end: { line, state, _ in
        if state.usesColor, !state.isHidden { line.append(last) }
        line.append("\n")
      })
  }
}

extension BarFormat {
  /// The format of waybar, for a `custom` module with `"return-type": "json"`. The style sheet chooses the colours by the
  /// classes.
  static let waybar = BarFormat(
    showsSignal: true, markup: .pango, begin: { line, _, _ in line.append(#"{"text":""#) },
    append: { text, range, line in for position in range { line.append(pango: text[position]) } },
    appendLiteral: { byte, _, line in line.append(json: byte) },
    end: { line, state, scratch in
      line.append(#"","alt":""#)
      line.append(text: state.word)
      line.append(#"","tooltip":""#)
      if !state.isHidden { line.appendTooltip(of: state, &scratch) }
      line.append(#"","class":[""#)
      line.appendClasses(of: state)
      line.append("]")
      if let signal = state.path.wifi?.signal {
        line.append(#","percentage":"#)
        line.appendDecimal(UInt64(clamping: signal.percent))
      }
      line.append("}\n")
    })
}

extension LineBuffer {
  fileprivate mutating func appendClasses(of state: BarState) {
    let path = state.path
    append(text: path.medium?.rawValue ?? state.word)
    append("\"")
    if path.isReachable { append(#","online""#) }
    if state.condition == .portal { append(#","portal""#) }
    if state.condition == .noInternet { append(#","no-internet""#) }
    if path.isExpensive { append(#","expensive""#) }
    if path.vpn != nil { append(#","vpn""#) }
    if state.isBusy { append(#","busy""#) }
  }

  fileprivate mutating func appendTooltip(of state: BarState, _ scratch: inout LineBuffer) {
    let path = state.path
    guard path.isReachable else {
      append("", .name, of: state, &scratch)
      append(": ")
      return append(text: path.reason.description)
    }
    append("", .medium, of: state, &scratch)
    append(" ", .interface, of: state, &scratch)
    append(": ", .ssid, of: state, &scratch)
    if let signal = path.wifi?.signal {
      append(", ")
      appendDecimal(UInt64(clamping: signal.percent))
      append("%")
    }
    append(path.ipv4)
    append(path.ipv6)
    if path.vpn != nil {
      append("\\nVPN ", .vpn, of: state, &scratch)
      append(", ", .vpnKind, of: state, &scratch)
      if path.vpn?.isCarrierKnown == false { append(", over an unknown link") }
    }
    if let internet = state.record.internet {
      append("\\n")
      append(internet.words)
    }
  }

  private mutating func append(_ family: NetworkPath.FamilyPath?) {
    guard let family else { return }
    append("\\n")
    family.address.write(to: &self)
    guard let gateway = family.gateway else { return }
    append(" via ")
    gateway.write(to: &self)
  }

  /// Appends `before` and a field. Appends nothing if the field is empty.
  private mutating func append(
    _ before: StaticString, _ field: BarField, of state: BarState, _ scratch: inout LineBuffer
  ) {
    scratch.removeAll()
    scratch.append(field, of: state)
    guard scratch.count > 0 else { return }
    append(before)
    let isIsolated = BarFormat.waybar.isolates([field], scratch, 0..<scratch.count)
    if isIsolated { append("\u{2068}") }
    for position in 0..<scratch.count { append(pango: scratch[position]) }
    if isIsolated { append("\u{2069}") }
  }
}
