import Netwatch

/// What a bar shows: text with fields, as `{icon} {ssid|interface}{ vpn}`.
struct BarTemplate: Hashable {
  enum Piece: Hashable {
    case literal(String)
    /// The first field that says anything, with spaces that are there only with it.
    case fields([BarField], before: Int, after: Int)
  }

  let pieces: [Piece]

  /// Some field says how much goes over a link.
  var showsTraffic: Bool { hasField(where: \.isOfTraffic) }

  /// Some field says how well the link works.
  var showsQuality: Bool { hasField { $0 == .roundTripTime || $0 == .loss } }

  /// Some field says which stage of the way to the internet fails.
  var showsStage: Bool { hasField { $0 == .stage } }

  private func hasField(where isWanted: (BarField) -> Bool) -> Bool {
    pieces.contains { if case .fields(let fields, _, _) = $0 { fields.contains(where: isWanted) } else { false } }
  }

  /// What of the WiFi network its fields say.
  var wifi: WiFiReporting {
    pieces.reduce(WiFiReporting()) { wifi, piece in
      guard case .fields(let fields, _, _) = piece else { return wifi }
      return fields.reduce(wifi) { $0.union($1.wifi) }
    }
  }

  /// - Throws: what is wrong, in a sentence.
  init(_ text: String) throws(PlainError) {
    var pieces: [Piece] = []
    var literal = ""
    var rest = text[...]
    while let character = rest.popFirst() {
      if character.unicodeScalars.contains(where: { $0.value < 0x20 || 0x7f..<0xa0 ~= $0.value }) {
        throw PlainError("a template is one line without control characters")
      }
      switch character {
      case "{" where rest.first == "{", "}" where rest.first == "}":
        rest.removeFirst()
        literal.append(character)
      case "{":
        guard let end = rest.firstIndex(of: "}") else {
          throw PlainError("'{\(rest)' lacks its '}'; write {{ for a brace")
        }
        if !literal.isEmpty { pieces.append(.literal(literal)) }
        literal = ""
        pieces.append(try Self.fields(rest[..<end]))
        rest = rest[end...].dropFirst()
      default: literal.append(character)
      }
    }
    if !literal.isEmpty { pieces.append(.literal(literal)) }
    self.pieces = pieces
  }

  private static func fields(_ text: Substring) throws(PlainError) -> Piece {
    let before = text.prefix { $0 == " " }.count
    let inner = text.dropFirst(before)
    let after = inner.reversed().prefix { $0 == " " }.count
    var fields: [BarField] = []
    for name in inner.dropLast(after).split(separator: "|", omittingEmptySubsequences: false) {
      guard let field = BarField(rawValue: String(name)) else { throw unknownField(name) }
      fields.append(field)
    }
    return .fields(fields, before: before, after: after)
  }

  private static func unknownField(_ name: Substring) -> PlainError {
    let hint = BarField.names.nearest(to: String(name)).map { "did you mean {\($0)}? " } ?? ""
    return PlainError("{\(name)} is no field; \(hint)there are \(BarField.list). Write {{ for a brace")
  }
}

extension BarTemplate {
  /// Takes the bar's own markup out of a literal, and sees to it that a value behind it is not drawn into it.
  ///
  /// - Returns: the text as the bar reads it, and how many characters of it are seen.
  static func read(
    _ text: String, _ markup: BarMarkup, isBeforeField: Bool
  ) throws(PlainError) -> (units: [(character: Character, isInTag: Bool)], width: Int) {
    var units: [(character: Character, isInTag: Bool)] = []
    var width = 0
    var rest = text[...]
    var tag: Substring?
    while let character = rest.first {
      if tag == nil, let opening = markup.opening, rest.hasPrefix(opening) { tag = rest }
      if tag == nil, let doubled = markup.doubled, character == doubled, rest.dropFirst().first == doubled {
        units += [(doubled, false), (doubled, false)]
        width += 1
        rest = rest.dropFirst(2)
        continue
      }
      if tag == nil, markup.hasEntities, character == "&" {
        guard let entity = rest.prefixMatch(of: /&(#[0-9]+|#x[0-9A-Fa-f]+|amp|lt|gt|quot|apos);/) else {
          throw PlainError("a '&' in a template for this bar has to be written as '&amp;'")
        }
        units += entity.output.0.map { ($0, false) }
        width += 1
        rest = rest.dropFirst(entity.output.0.count)
        continue
      }
      units.append((character, tag != nil))
      if tag == nil { width += 1 }
      if character == markup.closing { tag = nil }
      rest = rest.dropFirst()
    }
    if let tag {
      throw PlainError(
        "'\(tag)' in the template is not closed by '\(markup.closing)'; a field cannot stand within the bar's own markup"
      )
    }
    if isBeforeField, let doubled = markup.doubled, text.last == doubled,
      !text.reversed().prefix(while: { $0 == doubled }).count.isMultiple(of: 2)
    {
      units.append((doubled, false))
    }
    return (units, width)
  }

  /// Pango's elements end in turn; where they do not, waybar goes on showing what it showed before.
  func checkElements() throws(PlainError) {
    var open: [Substring] = []
    for case .literal(let text) in pieces {
      for part in text.split(separator: "<", omittingEmptySubsequences: false).dropFirst() {
        let tag = part.prefix { $0 != ">" }
        let name = tag.drop { $0 == "/" }.prefix { $0 != " " && $0 != "/" }
        if !tag.hasPrefix("/") {
          if !tag.hasSuffix("/") { open.append(name) }
        } else if open.popLast() != name {
          throw PlainError("'<\(tag)>' in the template ends nothing that was begun just before")
        }
      }
    }
    if let name = open.last { throw PlainError("'<\(name)>' in the template lacks its '</\(name)>'") }
  }
}
