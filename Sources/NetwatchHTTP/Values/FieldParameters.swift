import Netwatch

/// The value of a field and its parameters, such as `attachment; filename="a.txt"` (RFC 9110, section 5.6.6).
///
/// The parser is as lenient as those of browsers, because many servers write these fields by hand.
struct FieldParameters: Hashable, Sendable {
  /// The text before the first semicolon, in lower case.
  let value: String
  /// The parameters by their names in lower case. If a name appears twice, the first value counts.
  private(set) var parameters: [String: String] = [:]

  init(_ text: String) {
    var rest = text[...]
    value = Self.trimmed(rest.prefix { $0 != ";" }).lowercased()
    rest = rest.drop { $0 != ";" }
    while rest.popFirst() != nil {
      let name = Self.trimmed(rest.prefix { $0 != "=" && $0 != ";" }).lowercased()
      rest = rest.drop { $0 != "=" && $0 != ";" }
      guard rest.first == "=" else { continue }
      rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
      var value = rest.first == "\"" ? Self.quoted(&rest) : ""
      // Some servers quote the charset of a parameter with one, and no more.
      if value.isEmpty || name.hasSuffix("*") { value += Self.trimmed(rest.prefix { $0 != ";" }) }
      rest = rest.drop { $0 != ";" }
      if !name.isEmpty, parameters[name] == nil { parameters[name] = value }
    }
  }

  /// Returns a parameter with a charset (RFC 8187): `filename*=UTF-8'en'na%C3%AFve` is `naïve`. Nil if there is none that can
  /// be read.
  ///
  /// RFC 8187 allows UTF-8 only. ISO-8859-1 is from its predecessor.
  func extendedParameter(_ name: String) -> String? {
    guard let text = parameters[name + "*"] else { return nil }
    let parts = text.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    switch parts[0].lowercased() {
    case "utf-8": return parts[2].percentDecoded
    case "iso-8859-1":
      return parts[2].percentDecodedBytes.map { bytes in
        String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
      }
    default: return nil
    }
  }

  /// Reads a quoted string. A backslash escapes only a quote or a backslash. Before any other character it stands for itself,
  /// because old browsers send paths in this way.
  private static func quoted(_ rest: inout Substring) -> String {
    var text = ""
    rest = rest.dropFirst()
    while let character = rest.popFirst(), character != "\"" {
      if character == "\\", let next = rest.first, next == "\"" || next == "\\" {
        text.append(next)
        rest = rest.dropFirst()
      } else {
        text.append(character)
      }
    }
    return text
  }

  private static func trimmed(_ text: Substring) -> String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    var text = text.drop(while: isBlank)
    while let last = text.last, isBlank(last) { text.removeLast() }
    return String(text)
  }
}
