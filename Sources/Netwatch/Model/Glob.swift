/// A pattern for names, as a shell has it: `*` stands for any text, `?` for one character, and `[a-z]` or `[!a-z]` for one of
/// several. A backslash takes the meaning from the character after it.
///
/// Names are bytes that strangers choose. Bytes that are not UTF-8 count as one character each, and a zero is a byte like any
/// other.
package struct Glob: Hashable, Sendable {
  private enum Part: Hashable {
    case any
    case one
    case character(UInt32)
    case set([ClosedRange<UInt32>], isNegated: Bool)
  }

  private let parts: [Part]

  /// Reads a pattern. A `[` without its `]` stands for itself, and a range that ends before it begins for nothing.
  package init(pattern: some Collection<UInt8>) {
    let characters = Self.characters(of: pattern)
    var parts: [Part] = []
    var position = 0
    while position < characters.count {
      let character = characters[position]
      position += 1
      switch character {
      case Self.star: if parts.last != .any { parts.append(.any) }
      case Self.question: parts.append(.one)
      case Self.bracket:
        if let (set, end) = Self.set(in: characters, from: position) {
          parts.append(set)
          position = end
        } else {
          parts.append(.character(character))
        }
      case Self.backslash where position < characters.count:
        parts.append(.character(characters[position]))
        position += 1
      default: parts.append(.character(character))
      }
    }
    self.parts = parts
  }

  /// Creates a pattern that matches one name only.
  package init(name: some Collection<UInt8>) { parts = Self.characters(of: name).map { .character($0) } }

  package func matches(_ name: some Collection<UInt8>) -> Bool {
    let name = Self.characters(of: name)
    var (part, place) = (0, 0)
    // The last star, and where what it stands for ends. If the rest does not match, it stands for one character more.
    var retry: (part: Int, place: Int)?
    while true {
      if part < parts.count, case .any = parts[part] {
        part += 1
        retry = (part, place)
      } else if place < name.count, part < parts.count, matches(parts[part], name[place]) {
        part += 1
        place += 1
      } else if place == name.count, part == parts.count {
        return true
      } else if let last = retry, last.place < name.count {
        (part, place) = (last.part, last.place + 1)
        retry = (part, place)
      } else {
        return false
      }
    }
  }

  private func matches(_ part: Part, _ character: UInt32) -> Bool {
    switch part {
    case .any: false
    case .one: true
    case .character(let wanted): wanted == character
    case .set(let ranges, let isNegated): ranges.contains { $0.contains(character) } != isNegated
    }
  }

  /// Reads what is between brackets. A `]` that comes first belongs to the set.
  private static func set(in characters: [UInt32], from start: Int) -> (Part, end: Int)? {
    var position = start
    var isNegated = false
    if position < characters.count, characters[position] == exclamation || characters[position] == caret {
      isNegated = true
      position += 1
    }
    var ranges: [ClosedRange<UInt32>] = []
    let first = position
    while position < characters.count {
      if characters[position] == closingBracket, position > first {
        return (.set(ranges, isNegated: isNegated), position + 1)
      }
      guard let low = member(of: characters, at: &position) else { return nil }
      guard position + 1 < characters.count, characters[position] == hyphen, characters[position + 1] != closingBracket
      else {
        ranges.append(low...low)
        continue
      }
      position += 1
      guard let high = member(of: characters, at: &position) else { return nil }
      if low <= high { ranges.append(low...high) }
    }
    return nil
  }

  private static func member(of characters: [UInt32], at position: inout Int) -> UInt32? {
    if characters[position] == backslash { position += 1 }
    guard position < characters.count else { return nil }
    defer { position += 1 }
    return characters[position]
  }

  /// Returns the characters of a name. A byte that is not UTF-8 has a number beyond those of Unicode.
  private static func characters(of bytes: some Collection<UInt8>) -> [UInt32] {
    if bytes.allSatisfy({ $0 < 0x80 }) { return bytes.map(UInt32.init) }
    var characters: [UInt32] = []
    var rest = Array(bytes)[...]
    while let first = rest.first {
      let length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
      if let text = String(validating: rest.prefix(length), as: UTF8.self), let scalar = text.unicodeScalars.first {
        characters.append(scalar.value)
        rest = rest.dropFirst(length)
      } else {
        characters.append(0x11_0000 + UInt32(first))
        rest = rest.dropFirst()
      }
    }
    return characters
  }

  private static let star = UInt32(UInt8(ascii: "*"))
  private static let question = UInt32(UInt8(ascii: "?"))
  private static let bracket = UInt32(UInt8(ascii: "["))
  private static let closingBracket = UInt32(UInt8(ascii: "]"))
  private static let backslash = UInt32(UInt8(ascii: "\\"))
  private static let exclamation = UInt32(UInt8(ascii: "!"))
  private static let caret = UInt32(UInt8(ascii: "^"))
  private static let hyphen = UInt32(UInt8(ascii: "-"))
}
