/// How many columns of a terminal a text takes.
func columns(of text: some StringProtocol) -> Int {
  // Most text is ASCII, and has no control characters.
  if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
  return text.reduce(0) { $0 + columns(of: $1) }
}

/// What people see as one character may be several of Unicode's, and takes two columns in the scripts of East Asia.
func columns(of character: Character) -> Int {
  guard let first = character.unicodeScalars.first else { return 0 }
  // A flag, a face with its colour of skin: however long, it is one picture.
  if first.properties.isEmojiPresentation { return 2 }
  var width = 0
  for scalar in character.unicodeScalars {
    // Asks for the picture of what is a letter otherwise.
    if scalar == "\u{fe0f}" { return 2 }
    width += columns(of: scalar)
  }
  return width
}

/// The beginning of a text, with a mark at its end if it does not take so few columns as a whole.
func fit(_ text: String, _ width: Int, ellipsis: Character) -> String {
  guard columns(of: text) > width else { return text }
  let (head, _) = split(text, at: max(0, width - columns(of: ellipsis)))
  return width > 0 ? head + String(ellipsis) : ""
}

/// As much of a text as goes into so many columns, and the rest. No character is cut.
func split(_ text: some StringProtocol, at width: Int) -> (String, String) {
  var taken = 0
  let end = text.indices.first { index in
    taken += columns(of: text[index])
    return taken > width
  }
  guard let end else { return (String(text), "") }
  return (String(text[..<end]), String(text[end...]))
}

private func columns(of scalar: Unicode.Scalar) -> Int {
  switch scalar.properties.generalCategory {
  case .nonspacingMark, .enclosingMark, .format, .control: return 0
  default: break
  }
  // The middles and ends of Hangul syllables stand upon their beginnings.
  if 0x1160...0x11ff ~= scalar.value { return 0 }
  if scalar.properties.isEmojiPresentation { return 2 }
  return wide.contains { $0 ~= scalar.value } ? 2 : 1
}

/// Wide and fullwidth by Unicode's Standard Annex 11, in blocks; pictures aside.
private let wide: [ClosedRange<UInt32>] = [
  0x1100...0x115f, 0x2329...0x232a, 0x2e80...0x303e, 0x3041...0x4dbf, 0x4e00...0xa4cf, 0xa960...0xa97c, 0xac00...0xd7a3,
  0xf900...0xfaff, 0xfe10...0xfe19, 0xfe30...0xfe6f, 0xff01...0xff60, 0xffe0...0xffe6, 0x16fe0...0x18cff,
  0x18d00...0x1b2ff, 0x1f200...0x1f2ff, 0x20000...0x3fffd,
]
