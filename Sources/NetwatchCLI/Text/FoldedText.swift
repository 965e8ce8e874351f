/// Colours of a terminal, by their numbers.
enum TextColor: String {
  case bold = "1", dim = "2", red = "31", green = "32", yellow = "33"

  func paint(_ text: String) -> String { "\u{1b}[\(rawValue)m\(text)\u{1b}[0m" }
}

/// Phrases side by side, each in its column. What a narrow terminal has no room for goes on lines beneath, at the ends of
/// phrases, else of words, and never within a character.
struct FoldedText {
  private let usesColor: Bool
  private let limit: Int
  private let indent: Int
  private var text = ""
  /// How far the last line reaches.
  private var end = 0

  /// - Parameters:
  ///   - width: how many columns there are; nil where a line may be as long as it likes.
  ///   - indent: of the lines beneath.
  init(width: Int?, usesColor: Bool, indent: Int) {
    self.usesColor = usesColor
    limit = width ?? .max
    // Some room has to be left.
    self.indent = min(indent, max(limit / 2, limit - 16))
  }

  /// With its newline.
  var lines: String { text + "\n" }

  /// Appends a phrase.
  ///
  /// - Parameters:
  ///   - column: Where the phrase begins, unless the text before it reaches further.
  ///   - gap: The number of spaces between the text before it and the phrase, at least.
  mutating func append(_ phrase: String, _ color: TextColor? = nil, at column: Int = 0, gap: Int = 1) {
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

  /// The next phrase stands on a new line.
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

  /// A word that is longer than a line.
  private mutating func cut(_ word: String, _ color: TextColor?) {
    var rest = word
    while !rest.isEmpty {
      // One character is put even where there is no room for it.
      var (head, tail) = rest.split(atColumn: limit - indent)
      if head.isEmpty { head = String(tail.removeFirst()) }
      putBeneath(head, head.columns, color)
      rest = tail
    }
  }
}
