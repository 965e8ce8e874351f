import FoundationEssentials

extension StructuredValue {
  /// Creates the tree of an encodable value, such as a struct of your own.
  ///
  /// Dates become ``date(_:)`` and bytes become ``data(_:)``. A URL becomes its text. A value that encodes nothing becomes an
  /// empty dictionary.
  ///
  /// - Parameter value: The value to encode.
  /// - Throws: `cannotEncodeRequest` for any error that the value throws, for whole numbers that do not fit into a signed
  ///   64-bit integer, and for more than 512 levels.
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
  /// Whole numbers that fit become ``integer(_:)``. Dates and bytes are not distinguished from text.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .integer(value)
    } else if let value = try? container.decode(Double.self) {
      self = .number(value)
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let members = try? container.decode([String: StructuredValue].self) {
      self = .dictionary(members)
    } else {
      self = .array(try container.decode([StructuredValue].self))
    }
  }

  /// Encodes the tree. A set becomes an array in no particular order.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let value): try container.encode(value)
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
