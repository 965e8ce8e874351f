import Netwatch

/// The JSON form of a path is the object `reachability` of a line of the stream, and the `reason` of that line.
///
/// The list of links is not part of it. A path that was decoded says the same as the one that was encoded, and has no
/// ``NetworkPath/interfaces``.
extension NetworkPath: Codable {
  /// Writes the path as the stream has it.
  public func encode(to encoder: any Encoder) throws {
    var line = LineBuffer()
    line.append("{")
    line.append(self)
    line.append("}")
    guard case .object(var members)? = JSONValue(ArraySlice(line.text.utf8)) else {
      throw EncodingError.invalidValue(
        self, .init(codingPath: encoder.codingPath, debugDescription: "the path has no JSON form"))
    }
    members["reason"] = .string(reason.rawValue)
    try JSONValue.object(members).encode(to: encoder)
  }

  /// Reads a path as the stream has it. Unknown keys are ignored.
  ///
  /// - Throws: A `DecodingError` if a value is missing, or out of range.
  public init(from decoder: any Decoder) throws {
    let value = try JSONValue(from: decoder)
    let reason = value["reason"]?.string.flatMap(ReachabilityReason.init)
    guard let path = NetworkPath(value, because: reason) else {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: "this is no path of netwatch's stream"))
    }
    self = path
  }
}

extension JSONValue: Codable {
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .integer(let number): try container.encode(number)
    case .number(let number): try container.encode(number)
    case .string(let text): try container.encode(text)
    case .array(let elements): try container.encode(elements)
    case .object(let members): try container.encode(members)
    }
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let number = try? container.decode(Int64.self) {
      self = .integer(number)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self) {
      self = .string(text)
    } else if let elements = try? container.decode([JSONValue].self) {
      self = .array(elements)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }
}
