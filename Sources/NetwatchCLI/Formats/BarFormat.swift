import Netwatch

/// How one bar wants its lines: a line is what `begin` appends, text and values, and what `end` appends.
protocol BarFormat: AnyObject {
  /// Written on its own before the first line.
  var header: StaticString { get }
  /// In front of each line but the first.
  var separator: StaticString { get }
  /// After a change the bar wants the line once more, when so much has passed.
  var repetition: Duration? { get }
  /// Whether the bar writes to standard input when it is clicked.
  var getsClicks: Bool { get }
  /// What it shows where nobody says otherwise.
  var standardTemplate: StaticString { get }
  /// The markup of the bar's own that a template may hold.
  var markup: BarMarkup { get }

  func begin(_ line: inout LineBuffer, _ state: BarState)
  /// Appends a part of `text`, which has no control characters, so that the bar shows it as it stands.
  func append(_ text: borrowing LineBuffer, _ range: Range<Int>, to line: inout LineBuffer)
  /// Appends a byte of a template's own text, which may be markup.
  func append(literal byte: UInt8, isInTag: Bool, to line: inout LineBuffer)
  /// Ends the line, its newline included.
  func end(_ line: inout LineBuffer, _ state: BarState)
}

extension BarFormat {
  var header: StaticString { "" }
  var separator: StaticString { "" }
  var repetition: Duration? { nil }
  var getsClicks: Bool { false }
  var standardTemplate: StaticString { "{icon }{name}{ internet_mark}{ vpn_mark}{ activity}" }

  func append(literal byte: UInt8, isInTag: Bool, to line: inout LineBuffer) { line.append(byte) }
}

/// What of a template's own text is not seen.
struct BarMarkup {
  /// What a tag begins with; nil where the bar has none.
  let opening: String?
  let closing: Character
  /// Written twice where it is meant itself.
  let doubled: Character?
  /// Whether `&` begins a character's name.
  let hasEntities: Bool

  static let none = BarMarkup(opening: nil, closing: " ")
  static let pango = BarMarkup(opening: "<", closing: ">", hasEntities: true)

  init(opening: String?, closing: Character, doubled: Character? = nil, hasEntities: Bool = false) {
    self.opening = opening
    self.closing = closing
    self.doubled = doubled
    self.hasEntities = hasEntities
  }
}
