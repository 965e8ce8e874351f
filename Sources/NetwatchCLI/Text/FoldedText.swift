import Netwatch

/// A colour of text on a terminal. The raw value is its number in an escape sequence.
enum TextColor: String {
  case bold = "1", dim = "2", red = "31", green = "32", yellow = "33"

  func paint(_ text: String) -> String { "\u{1b}[\(rawValue)m\(text)\u{1b}[0m" }
}

/// Phrases side by side, each in its column. If a terminal is too narrow, the text continues on the next line. Lines end
/// between phrases, otherwise between words, and never within a character.
struct FoldedText {
  private let usesColor: Bool
  private let limit: Int
  private let indent: Int
  private var text = ""
  /// The number of columns that the last line takes.
  private var end = 0

  /// - Parameters:
  ///   - width: The width of the terminal in columns; nil if a line may have any length.
  ///   - indent: The column in which the continued lines begin.
  init(width: Int?, usesColor: Bool, indent: Int) {
    self.usesColor = usesColor
    limit = width ?? .max
    // The indent has to leave room for text.
    self.indent = min(indent, max(limit / 2, limit - 16))
  }

  /// The text, including its final newline.
  var lines: String { text + "\n" }

  /// Appends a phrase. Characters in it that could control the terminal become question marks.
  ///
  /// - Parameters:
  ///   - column: The column in which the phrase begins, unless the text before it reaches further. Default: 0.
  ///   - gap: The least number of spaces before the phrase if there is text before it. Default: 1.
  mutating func append(_ phrase: String, _ color: TextColor? = nil, at column: Int = 0, gap: Int = 1) {
    let phrase = phrase.sanitizedForTerminal
    let width = phrase.columns
    guard width > 0 else { return }
    let start = max(column, end == 0 ? 0 : end + gap)
    if start + width <= limit { return put(phrase, width, color, at: start) }
    if indent + width <= limit { return putBeneath(phrase, width, color) }
    let words = phrase.split(separator: " ")
    if words.count > 1 {
      for (position, word) in words.enumerated() { append(String(word), color, at: position == 0 ? column : 0) }
    } else {
      cut(phrase, color)
    }
  }

  /// Begins a new line for the next phrase.
  mutating func breakLine() {
    text += "\n"
    end = 0
  }

  private mutating func put(_ phrase: String, _ width: Int, _ color: TextColor?, at start: Int) {
    text += String(repeating: " ", count: start - end)
    text += usesColor ? color?.paint(phrase) ?? phrase : phrase
    end = start + width
  }

  private mutating func putBeneath(_ phrase: String, _ width: Int, _ color: TextColor?) {
    if end > 0 { breakLine() }
    put(phrase, width, color, at: indent)
  }

  /// Appends a word that is longer than a line, in pieces.
  private mutating func cut(_ word: String, _ color: TextColor?) {
    var rest = word
    while !rest.isEmpty {
      // One character is written even if there is no room for it.
      var (head, tail) = rest.split(atColumn: limit - indent)
      if head.isEmpty { head = String(tail.removeFirst()) }
      putBeneath(head, head.columns, color)
      rest = tail
    }
  }
}
