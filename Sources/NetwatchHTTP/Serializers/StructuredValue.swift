import FoundationEssentials

/// A tree of plain values, used for parameters and for decoded JSON or property lists.
///
/// Parameters are a dictionary, or also an array in JSON and property lists. Not every format supports every case. A serializer
/// refuses the cases that its format does not support.
public enum StructuredValue: Hashable, Sendable {
  /// Null. A property list cannot contain it.
  case null
  /// True or false.
  case bool(Bool)
  /// A whole number that fits into 64 bits with a sign.
  case integer(Int64)
  /// A whole number above `Int64.max`, up to `UInt64.max`.
  case unsigned(UInt64)
  /// Any other number.
  case number(Double)
  /// Text.
  case string(String)
  /// A point in time, for property lists, queries and forms.
  case date(Date)
  /// Bytes, for property lists and multipart forms. Other forms and queries refuse them unless ``URLEncodedFormEncoder/data`` sets a
  /// format.
  case data(Data)
  /// Values in their order.
  case array([StructuredValue])
  /// Values without an order, for queries and forms only, which sort them.
  case set(Set<StructuredValue>)
  /// Values with their names.
  case dictionary([String: StructuredValue])

  /// The value for a key of a dictionary. Nil if there is none, and for other values.
  public subscript(key: String) -> StructuredValue? {
    if case .dictionary(let members) = self { members[key] } else { nil }
  }

  /// The element of an array. Nil for an index out of range, and for other values.
  public subscript(index: Int) -> StructuredValue? {
    guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
    return elements[index]
  }

  /// The text of a string. Nil for other values.
  public var string: String? { if case .string(let text) = self { text } else { nil } }
  /// The value of a boolean. Nil for other values.
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  /// The value of a whole number that is at most `Int64.max`. Nil for other values.
  public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
  /// The value of any number, whole or not. Nil for other values.
  public var number: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .unsigned(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }
  /// The elements of an array. Nil for other values.
  public var array: [StructuredValue]? { if case .array(let elements) = self { elements } else { nil } }
  /// The members of a dictionary. Nil for other values.
  public var dictionary: [String: StructuredValue]? { if case .dictionary(let members) = self { members } else { nil } }
}

extension StructuredValue: CustomStringConvertible {
  /// The tree as JSON in one line, with sorted keys, for logs. Dates are in ISO 8601, and bytes in Base64. Numbers that JSON does not have
  /// are text, such as `"inf"`.
  public var description: String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
    guard let text = try? encoder.encode(self) else { return "a tree of more levels than JSON is written with" }
    return String(decoding: text, as: UTF8.self)
  }
}

extension StructuredValue {
  /// The most levels of a tree. A deeper one is refused, because code that traverses it uses the stack.
  package static let deepest = 512

  /// Returns the value without the nulls in dictionaries and arrays. Nil for null.
  package func removingNulls() -> StructuredValue? {
    switch self {
    case .null: nil
    case .array(let elements): .array(elements.compactMap { $0.removingNulls() })
    case .dictionary(let members): .dictionary(members.compactMapValues { $0.removingNulls() })
    default: self
    }
  }
}

// MARK: Literals

extension StructuredValue: ExpressibleByNilLiteral {
  /// Creates null from the literal `nil`.
  public init(nilLiteral: ()) { self = .null }
}

extension StructuredValue: ExpressibleByBooleanLiteral {
  /// Creates a boolean from a literal.
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension StructuredValue: ExpressibleByIntegerLiteral {
  /// Creates a whole number from a literal.
  public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension StructuredValue: ExpressibleByFloatLiteral {
  /// Creates a number from a literal.
  public init(floatLiteral value: Double) { self = .number(value) }
}

extension StructuredValue: ExpressibleByStringInterpolation {
  /// Creates a string from a literal.
  public init(stringLiteral value: String) { self = .string(value) }
}

extension StructuredValue: ExpressibleByArrayLiteral {
  /// Creates an array from a literal.
  public init(arrayLiteral elements: StructuredValue...) { self = .array(elements) }
}

extension StructuredValue: ExpressibleByDictionaryLiteral {
  /// Creates a dictionary from a literal. If a key appears twice, the last value counts.
  public init(dictionaryLiteral elements: (String, StructuredValue)...) {
    self = .dictionary(Dictionary(elements, uniquingKeysWith: { $1 }))
  }
}

extension StructuredValue {
  /// Creates the tree of an encodable value, such as a struct of your own.
  ///
  /// Dates become ``date(_:)`` and bytes become ``data(_:)``. A URL becomes its text. A value that encodes nothing becomes an
  /// empty dictionary.
  ///
  /// - Parameter value: The value to encode.
  /// - Throws: `cannotEncodeRequest` for any error that the value throws, for whole numbers that do not fit into 64
  ///   bits, and for more than 512 levels.
  public init(encoding value: some Encodable) throws(HTTPError) {
    self =
      if let value = value as? StructuredValue { value } else { try StructuredEncoder.Node(encoding: value).value }
  }

  /// Returns the tree of an encodable value: `parameters: .encoding(filter)`. See ``init(encoding:)``.
  ///
  /// - Parameter value: The value to encode.
  /// - Throws: `cannotEncodeRequest`, as ``init(encoding:)`` does.
  public static func encoding(_ value: some Encodable) throws(HTTPError) -> StructuredValue {
    try StructuredValue(encoding: value)
  }
}

extension StructuredValue: Codable {
  /// Decodes any value, such as JSON of an unknown structure: `try JSONDecoder().decode(StructuredValue.self, from: body)`.
  ///
  /// Whole numbers that fit become ``integer(_:)`` or ``unsigned(_:)``. Dates and bytes are not distinguished from text.
  public init(from decoder: any Decoder) throws {
    if let container = try? decoder.container(keyedBy: MemberKey.self) {
      var members: [String: StructuredValue] = [:]
      for key in container.allKeys {
        members[key.stringValue] = try container.decode(StructuredValue.self, forKey: key)
      }
      self = .dictionary(members)
    } else if var container = try? decoder.unkeyedContainer() {
      var elements: [StructuredValue] = []
      while !container.isAtEnd { elements.append(try container.decode(StructuredValue.self)) }
      self = .array(elements)
    } else {
      self = try Self.scalar(decoder.singleValueContainer())
    }
  }

  private struct MemberKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  private static func scalar(_ container: any SingleValueDecodingContainer) throws -> StructuredValue {
    if container.decodeNil() { return .null }
    do {
      return .string(try container.decode(String.self))
    } catch DecodingError.typeMismatch {
      // It is a number or a boolean. Any other error tells of text that is not Unicode.
    }
    if let value = try? container.decode(Bool.self) { return .bool(value) }
    if let value = try? container.decode(Int64.self) { return .integer(value) }
    if let value = try? container.decode(UInt64.self) { return .unsigned(value) }
    return .number(try container.decode(Double.self))
  }

  /// Encodes the tree. A set becomes an array in no particular order.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
    case .unsigned(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .date(let value): try container.encode(value)
    case .data(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .set(let value): try container.encode(Array(value))
    case .dictionary(let value): try container.encode(value)
    }
  }
}
