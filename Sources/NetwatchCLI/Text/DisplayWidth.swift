extension StringProtocol {
  /// How many columns of a terminal it takes.
  var columns: Int {
    // Most text is ASCII, and has no control characters.
    if utf8.allSatisfy({ $0 < 0x80 }) { return utf8.count }
    return reduce(0) { $0 + $1.columns }
  }

  /// The beginning of it, with a mark at its end if it does not take so few columns as a whole.
  func fitted(to width: Int, ellipsis: Character) -> String {
    guard columns > width else { return String(self) }
    let (head, _) = split(atColumn: Swift.max(0, width - ellipsis.columns))
    return width > 0 ? head + String(ellipsis) : ""
  }

  /// As much of it as goes into so many columns, and the rest. No character is cut.
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
  /// What people see as one character may be several of Unicode's, and takes two columns in the scripts of East Asia.
  var columns: Int {
    guard let first = unicodeScalars.first else { return 0 }
    // A flag, a face with its colour of skin: however long, it is one picture.
    if first.properties.isEmojiPresentation { return 2 }
    var width = 0
    for scalar in unicodeScalars {
      // Asks for the picture of what is a letter otherwise.
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
    // The middles and ends of Hangul syllables stand upon their beginnings.
    if 0x1160...0x11ff ~= value { return 0 }
    if properties.isEmojiPresentation { return 2 }
    return Self.wide.contains { $0 ~= value } ? 2 : 1
  }

  /// Wide and fullwidth by Unicode's Standard Annex 11, in blocks; pictures aside.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115f, 0x2329...0x232a, 0x2e80...0x303e, 0x3041...0x4dbf, 0x4e00...0xa4cf, 0xa960...0xa97c,
    0xac00...0xd7a3, 0xf900...0xfaff, 0xfe10...0xfe19, 0xfe30...0xfe6f, 0xff01...0xff60, 0xffe0...0xffe6,
    0x16fe0...0x18cff, 0x18d00...0x1b2ff, 0x1f200...0x1f2ff, 0x20000...0x3fffd,
  ]
}
