import FoundationEssentials

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
    if let container = try? decoder.container(keyedBy: Key.self) {
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

  private struct Key: CodingKey {
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
