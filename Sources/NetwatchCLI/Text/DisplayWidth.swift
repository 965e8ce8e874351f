extension StringProtocol {
  /// The number of terminal columns that the text takes.
  var columns: Int {
    // Most text is ASCII, and has no control characters.
    if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
    return reduce(0) { $0 + $1.columns }
  }

  /// Returns the text if it takes at most `width` columns, otherwise its beginning and the ellipsis.
  func fitted(to width: Int, ellipsis: Character) -> String {
    guard columns > width else { return String(self) }
    let (head, _) = split(atColumn: Swift.max(0, width - ellipsis.columns))
    return width > 0 ? head + String(ellipsis) : ""
  }

  /// Returns as much of the text as fits into `width` columns, and the rest. No character is cut.
  func split(atColumn width: Int) -> (String, String) {
    var filled = 0
    let end = indices.first { index in
      filled += self[index].columns
      return filled > width
    }
    guard let end else { return (String(self), "") }
    return (String(self[..<end]), String(self[end...]))
  }
}

extension Character {
  /// The number of terminal columns that the character takes: two for most East Asian scripts and emoji. A character may
  /// consist of several Unicode scalars.
  var columns: Int {
    guard let first = unicodeScalars.first else { return 0 }
    // An emoji, such as a flag or a face with a skin tone, is one picture, however many scalars it has.
    if first.properties.isEmojiPresentation { return 2 }
    var width = 0
    for scalar in unicodeScalars {
      // This selector requests the emoji form of a character that is otherwise text.
      if scalar == "\u{fe0f}" { return 2 }
      width += scalar.columns
    }
    return width
  }
}

extension Unicode.Scalar {
  fileprivate var columns: Int {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: break
    }
    // The middle and the end of a Hangul syllable are drawn into the columns of its beginning.
    if 0x1160...0x11ff ~= value { return 0 }
    if properties.isEmojiPresentation { return 2 }
    return Self.wide.contains { $0 ~= value } ? 2 : 1
  }

  /// The blocks of wide and fullwidth characters by Unicode Standard Annex 11, without emoji.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115f, 0x2329...0x232a, 0x2e80...0x303e, 0x3041...0x4dbf, 0x4e00...0xa4cf, 0xa960...0xa97c,
    0xac00...0xd7a3, 0xf900...0xfaff, 0xfe10...0xfe19, 0xfe30...0xfe6f, 0xff01...0xff60, 0xffe0...0xffe6,
    0x16fe0...0x18cff, 0x18d00...0x1b2ff, 0x1f200...0x1f2ff, 0x20000...0x3fffd,
  ]
}
