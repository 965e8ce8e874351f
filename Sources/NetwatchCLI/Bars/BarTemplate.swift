import Netwatch
import NetwatchOptions

/// A template for the text of a bar: text with fields, such as `{icon} {ssid|interface}{ vpn}`.
struct BarTemplate: Hashable {
  enum Piece: Hashable {
    case literal(String)
    /// The first field that is not empty, with spaces that appear only together with it.
    case fields([BarField], before: Int, after: Int)
  }

  let pieces: [Piece]

  /// Whether a field shows the traffic of a link.
  var showsTraffic: Bool { hasField(where: \.isOfTraffic) }

  /// Whether a field shows the quality of the link.
  var showsQuality: Bool { hasField { $0 == .roundTripTime || $0 == .loss } }

  /// Whether a field shows which stage of the way to the internet fails.
  var showsStage: Bool { hasField { $0 == .stage } }

  /// Whether a field shows the speed of the cable.
  var showsCable: Bool { hasField { $0 == .speed } }

  private func hasField(where isWanted: (BarField) -> Bool) -> Bool {
    pieces.contains { if case .fields(let fields, _, _) = $0 { fields.contains(where: isWanted) } else { false } }
  }

  /// The properties of the WiFi network that the fields need.
  var wifi: WiFiReporting {
    pieces.reduce(WiFiReporting()) { wifi, piece in
      guard case .fields(let fields, _, _) = piece else { return wifi }
      return fields.reduce(wifi) { $0.union($1.wifi) }
    }
  }

  /// - Throws: A `PlainError` if the text is not a template.
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
    let hint = BarField.names.nearest(to: String(name)).map { "did you mean {\($0)}? There" } ?? "there"
    return PlainError("{\(name)} is no field; \(hint) are \(BarField.list). Write {{ for a brace")
  }
}

extension BarTemplate {
  /// Whether a name, without `&` and `;`, is that of an entity that Pango knows: `amp`, `#38`, `#x26` and so on.
  private static func isEntity(_ name: Substring) -> Bool {
    guard name.first == "#" else { return ["amp", "lt", "gt", "quot", "apos"].contains(name) }
    let number = name.dropFirst()
    let digits = number.first == "x" ? number.dropFirst() : number
    return !digits.isEmpty && digits.allSatisfy { $0.isASCII && (number.first == "x" ? $0.isHexDigit : $0.isNumber) }
  }

  /// Finds the bar's own markup in a literal, and makes sure that a value after the literal does not become part of the markup.
  ///
  /// - Returns: The text as the bar reads it, and the number of its visible characters.
  /// - Throws: A `PlainError` if the markup is wrong.
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
        guard let end = rest.firstIndex(of: ";"), isEntity(rest[..<end].dropFirst()) else {
          throw PlainError("a '&' in a template for this bar has to be written as '&amp;'")
        }
        units += rest[...end].map { ($0, false) }
        width += 1
        rest = rest[end...].dropFirst()
        continue
      }
      units.append((character, tag != nil))
      if tag == nil { width += 1 }
      if character == markup.closing { tag = nil }
      rest = rest.dropFirst()
    }
    if let tag {
      throw PlainError(
        "'\(tag)' in the template is not closed by '\(markup.closing)'; a field cannot stand inside a tag"
      )
    }
    if isBeforeField, let doubled = markup.doubled, text.last == doubled,
      !text.reversed().prefix(while: { $0 == doubled }).count.isMultiple(of: 2)
    {
      units.append((doubled, false))
    }
    return (units, width)
  }

  /// Checks that Pango's elements are nested correctly. If they are not, waybar keeps showing the previous text.
  ///
  /// - Throws: A `PlainError` that names the wrong tag.
  func checkElements() throws(PlainError) {
    var open: [Substring] = []
    for case .literal(let text) in pieces {
      for part in text.split(separator: "<", omittingEmptySubsequences: false).dropFirst() {
        let tag = part.prefix { $0 != ">" }
        let name = tag.drop { $0 == "/" }.prefix { $0 != " " && $0 != "/" }
        if !tag.hasPrefix("/") {
          if !tag.hasSuffix("/") { open.append(name) }
        } else if open.popLast() != name {
          throw PlainError("'<\(tag)>' in the template does not close the element that was opened last")
        }
      }
    }
    if let name = open.last { throw PlainError("'<\(name)>' in the template lacks its '</\(name)>'") }
  }
}
