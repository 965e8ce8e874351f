import FoundationEssentials

/// A tree of plain values: what is sent as parameters, and what comes back as JSON or as a property list.
///
/// Parameters are a dictionary, or for JSON and property lists also an array.
/// Not every form of writing has a place for every case; a serializer refuses what its own has none for.
public enum StructuredValue: Hashable, Sendable {
  case null
  case bool(Bool)
  /// A whole number that fits.
  case integer(Int64)
  /// Any other number.
  case number(Double)
  case string(String)
  /// A point in time, in property lists alone.
  case date(Date)
  /// Bytes, in property lists and in the parts of a form.
  case data(Data)
  case array([StructuredValue])
  /// Without an order of its own; for queries and forms alone, where it is sorted.
  case set(Set<StructuredValue>)
  case dictionary([String: StructuredValue])

  /// The value of a dictionary's key; nil for other values.
  public subscript(key: String) -> StructuredValue? {
    if case .dictionary(let members) = self { members[key] } else { nil }
  }

  /// An array's element; nil outside of it, and for other values.
  public subscript(index: Int) -> StructuredValue? {
    guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
    return elements[index]
  }

  /// Nil for what is no string. So are the ones below.
  public var string: String? { if case .string(let text) = self { text } else { nil } }
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
  /// Any number, whole or not.
  public var number: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    default: nil
    }
  }
  public var array: [StructuredValue]? { if case .array(let elements) = self { elements } else { nil } }
  public var dictionary: [String: StructuredValue]? { if case .dictionary(let members) = self { members } else { nil } }
}

extension StructuredValue {
  /// Deeper than this, a tree is refused: whoever walks it does so on a stack.
  package static let deepest = 512

  /// Nil for null; dictionaries and arrays are without the nulls in them.
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
  public init(nilLiteral: ()) { self = .null }
}

extension StructuredValue: ExpressibleByBooleanLiteral {
  public init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension StructuredValue: ExpressibleByIntegerLiteral {
  public init(integerLiteral value: Int64) { self = .integer(value) }
}

extension StructuredValue: ExpressibleByFloatLiteral {
  public init(floatLiteral value: Double) { self = .number(value) }
}

extension StructuredValue: ExpressibleByStringInterpolation {
  public init(stringLiteral value: String) { self = .string(value) }
}

extension StructuredValue: ExpressibleByArrayLiteral {
  public init(arrayLiteral elements: StructuredValue...) { self = .array(elements) }
}

extension StructuredValue: ExpressibleByDictionaryLiteral {
  /// Of two equal keys the last one counts.
  public init(dictionaryLiteral elements: (String, StructuredValue)...) {
    self = .dictionary(Dictionary(elements, uniquingKeysWith: { $1 }))
  }
}
