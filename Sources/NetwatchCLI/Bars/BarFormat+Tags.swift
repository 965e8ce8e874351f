import Netwatch

// Bars that colour a line by tags around it.

extension BarFormat {
  /// polybar, `custom/script` with `tail = true`.
  ///
  /// `%{` opens a tag, even behind another `%`; an offset of nothing between the two keeps it shut. What stands before may be
  /// the template's, and a brace at the beginning of that may come behind a value's `%`.
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

  /// lemonbar, on its standard input.
  static let lemonbar: BarFormat = {
    let markup = BarMarkup(opening: "%{", closing: "}", doubled: "%")
    var format = tagged("%{F#", "}", "%{F-}", markup) { text, range, line in
      for position in range {
        if text[position] == UInt8(ascii: "%") { line.append("%") }
        line.append(text[position])
      }
    }
    // Its own font has no space as wide as a digit, and it keeps others.
    format.padding = " "
    return format
  }()

  /// xmobar, `CommandReader` and `PipeReader`: raw text, with its length in characters of Unicode in front.
  static let xmobar = tagged("<fc=#", ">", "</fc>", BarMarkup(opening: "<", closing: ">")) { text, range, line in
    var scalars = 0
    for position in range where text[position] & 0xc0 != 0x80 { scalars += 1 }
    line.append("<raw=")
    line.appendDecimal(UInt64(scalars))
    line.append(":")
    line.append(text, range)
    line.append("/>")
  }

  /// tmux, `#(…)` in a status line. It keeps a line that comes within a second of the one before, but draws it only when
  /// something else comes.
  ///
  /// `##` stands for one `#`, but `####` would too: tmux halves a run twice, unless a tag follows. An empty one is put there.
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

  /// conky, `execpi` and `execp`, which obey what is printed. `#` would begin a comment.
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

  /// - Parameters:
  ///   - before: what stands in front of the colour, at the beginning of the line.
  ///   - after: what stands behind the colour.
  ///   - last: what ends the colour, at the end of the line.
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
