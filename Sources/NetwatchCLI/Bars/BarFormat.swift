import Netwatch

/// How a bar wants its lines: a line is what `begin` appends, text and values, and what `end` appends.
struct BarFormat: Sendable {
  /// Written on its own before the first line.
  var header: StaticString = ""
  /// In front of each line but the first.
  var separator: StaticString = ""
  /// After a change the bar wants the line once more, when so much has passed.
  var repetition: Duration?
  /// The header that asks for clicks; nil where the bar is not asked.
  var clickHeader: StaticString?
  /// Whether the bar writes to standard input when it is clicked, though nobody has asked.
  var getsClicks = false
  /// A space as wide as a digit, which the bar keeps.
  var padding: StaticString = "\u{2007}"
  /// Whether it shows the strength of the WiFi signal, whatever the template.
  var showsSignal = false
  /// The markup of the bar's own that a template may hold.
  var markup = BarMarkup()
  /// Begins a line. The buffer besides is for what has to be put together first.
  var begin: @Sendable (_ line: inout LineBuffer, _ state: BarState, _ scratch: inout LineBuffer) -> Void = { _, _, _ in
  }
  /// Appends a part of `text`, which has no control characters, so that the bar shows it as it stands.
  var append: @Sendable (_ text: borrowing LineBuffer, _ range: Range<Int>, _ line: inout LineBuffer) -> Void = {
    text, range, line in line.append(text, range)
  }
  /// Appends a byte of a template's own text, which may be markup.
  var appendLiteral: @Sendable (_ byte: UInt8, _ isInTag: Bool, _ line: inout LineBuffer) -> Void = { byte, _, line in
    line.append(byte)
  }
  /// Ends the line, its newline included.
  var end: @Sendable (_ line: inout LineBuffer, _ state: BarState, _ scratch: inout LineBuffer) -> Void = {
    line, _, _ in line.append("\n")
  }

  /// For dwm, and all else that shows a line as it stands.
  static let plain = BarFormat(padding: " ")
  /// GNU screen would obey control characters, which are gone. Of two lines within a second it may draw the first alone.
  static let screen = BarFormat(repetition: .milliseconds(1100), padding: " ")
}

/// What of a template's own text is not seen.
struct BarMarkup: Sendable {
  /// What a tag begins with; nil where the bar has none.
  var opening: String?
  var closing: Character = " "
  /// Written twice where it is meant itself.
  var doubled: Character?
  /// Whether `&` begins a character's name.
  var hasEntities = false

  static let pango = BarMarkup(opening: "<", closing: ">", hasEntities: true)
}
