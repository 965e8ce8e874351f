import Netwatch

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
