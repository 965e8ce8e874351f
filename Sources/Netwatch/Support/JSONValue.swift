/// A JSON value: for what peers send, and for values without a fixed shape. Foundation has this too, but triples the start-up
/// time.
package indirect enum JSONValue: Hashable, Sendable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A whole number that fits into an Int64, exactly.
  case integer(Int64)
  /// Any other number.
  case number(Double)
  /// A string.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object. If a key occurs twice, the last value counts.
  case object([String: JSONValue])

  /// Parses one JSON text (RFC 8259). Nil if `bytes` are not one, or it is nested deeper than 8 levels.
  package init?(_ bytes: ArraySlice<UInt8>) {
    var parser = JSONParser(bytes)
    guard let value = parser.parse() else { return nil }
    self = value
  }

  /// The value of a key if this is an object that has the key; else nil.
  package subscript(key: String) -> JSONValue? {
    if case .object(let members) = self { members[key] } else { nil }
  }

  package var string: String? { if case .string(let text) = self { text } else { nil } }
  package var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  package var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
  package var integer: Int64? { if case .integer(let value) = self { value } else { nil } }

  /// Returns the whole number if it is within `range`; nil for everything else.
  package func integer(in range: ClosedRange<Int64>) -> Int64? { integer.flatMap { range.contains($0) ? $0 : nil } }
}

private struct JSONParser {
  private static let deepest = 10
  private let bytes: ArraySlice<UInt8>
  private var position: Int
  private var depth = 0

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    position = bytes.startIndex
  }

  mutating func parse() -> JSONValue? {
    guard let value = value() else { return nil }
    skipSpace()
    return position == bytes.endIndex ? value : nil
  }

  private var next: UInt8? { position < bytes.endIndex ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x09 || byte == 0x0a || byte == 0x0d { position += 1 }
  }

  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func skip(word: StaticString) -> Bool {
    let end = position + word.utf8CodeUnitCount
    guard end <= bytes.endIndex, String(decoding: bytes[position..<end], as: UTF8.self) == word.description else {
      return false
    }
    position = end
    return true
  }

  private mutating func value() -> JSONValue? {
    skipSpace()
    switch next {
    case UInt8(ascii: "{"): return nested { $0.object() }
    case UInt8(ascii: "["): return nested { $0.array() }
    case UInt8(ascii: "\""): return string().map { .string($0) }
    case UInt8(ascii: "t"): return skip(word: "true") ? .bool(true) : nil
    case UInt8(ascii: "f"): return skip(word: "false") ? .bool(false) : nil
    case UInt8(ascii: "n"): return skip(word: "null") ? .null : nil
    default: return number()
    }
  }

  private mutating func nested(_ body: (inout JSONParser) -> JSONValue?) -> JSONValue? {
    guard depth < Self.deepest else { return nil }
    depth += 1
    position += 1
    defer { depth -= 1 }
    return body(&self)
  }

  private mutating func object() -> JSONValue? {
    var members: [String: JSONValue] = [:]
    skipSpace()
    if skip("}") { return .object(members) }
    while true {
      skipSpace()
      guard let key = string() else { return nil }
      skipSpace()
      guard skip(":"), let value = value() else { return nil }
      members[key] = value
      skipSpace()
      if skip("}") { return .object(members) }
      guard skip(",") else { return nil }
    }
  }

  private mutating func array() -> JSONValue? {
    var elements: [JSONValue] = []
    skipSpace()
    if skip("]") { return .array(elements) }
    while true {
      guard let value = value() else { return nil }
      elements.append(value)
      skipSpace()
      if skip("]") { return .array(elements) }
      guard skip(",") else { return nil }
    }
  }

  // MARK: Strings

  private mutating func string() -> String? {
    guard skip("\"") else { return nil }
    var text: [UInt8] = []
    while let byte = next {
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return String(validating: text, as: UTF8.self)
      case UInt8(ascii: "\\"):
        guard let scalar = escape() else { return nil }
        text += Array(String(Character(scalar)).utf8)
      case 0..<0x20: return nil
      default: text.append(byte)
      }
    }
    return nil
  }

  private mutating func escape() -> Unicode.Scalar? {
    guard let byte = next else { return nil }
    position += 1
    switch Unicode.Scalar(byte) {
    case "\"", "\\", "/": return Unicode.Scalar(byte)
    case "b": return "\u{8}"
    case "f": return "\u{c}"
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "u":
      guard let unit = hex() else { return nil }
      guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) }
      guard skip("\\"), skip("u"), let trail = hex(), UTF16.isTrailSurrogate(trail) else { return nil }
      return Unicode.Scalar(0x1_0000 + (UInt32(unit) - 0xd800) << 10 + UInt32(trail) - 0xdc00)
    default: return nil
    }
  }

  private mutating func hex() -> UInt16? {
    guard position + 4 <= bytes.endIndex else { return nil }
    var value: UInt16 = 0
    for byte in bytes[position..<(position + 4)] {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { return nil }
      value = value << 4 | UInt16(digit)
    }
    position += 4
    return value
  }

  // MARK: Numbers

  private mutating func number() -> JSONValue? {
    let start = position
    _ = skip("-")
    guard let first = next, isDigit(first) else { return nil }
    skipDigits()
    if first == UInt8(ascii: "0"), position - start > (bytes[start] == UInt8(ascii: "-") ? 2 : 1) { return nil }
    var isWhole = true
    if skip(".") {
      isWhole = false
      guard let digit = next, isDigit(digit) else { return nil }
      skipDigits()
    }
    if skip("e") || skip("E") {
      isWhole = false
      if !skip("+") { _ = skip("-") }
      guard let digit = next, isDigit(digit) else { return nil }
      skipDigits()
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if isWhole, let integer = Int64(text) { return .integer(integer) }
    return Double(text).map { .number($0) }
  }

  private func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

  private mutating func skipDigits() {
    while let byte = next, isDigit(byte) { position += 1 }
  }
}
