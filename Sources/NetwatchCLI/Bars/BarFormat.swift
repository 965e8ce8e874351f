import Netwatch

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
  var isBidirectional = false

  static let pango = BarMarkup(opening: "<", closing: ">", hasEntities: true, isBidirectional: true)
}
