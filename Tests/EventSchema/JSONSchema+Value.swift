import Foundation

extension JSONSchema {
  /// A JSON text as a value.
  package enum Value: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([Value])
    case object([String: Value])

    package init(_ text: Data) throws {
      self.init(try JSONSerialization.jsonObject(with: text, options: .fragmentsAllowed))
    }

    private init(_ value: Any) {
      switch value {
      case let value as NSNumber:
        // `value is Bool` holds for the numbers 0 and 1 too.
        let isBool = unsafe value.objCType.pointee == CChar(UInt8(ascii: "c"))
        self = isBool ? .bool(value.boolValue) : .number(value.doubleValue)
      case let value as String: self = .string(value)
      case let value as [Any]: self = .array(value.map { Self($0) })
      case let value as [String: Any]: self = .object(value.mapValues { Self($0) })
      default: self = .null
      }
    }
  }
}

extension JSONSchema.Value: CustomStringConvertible {
  package var description: String {
    switch self {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .number(let value): Int(exactly: value).map { "\($0)" } ?? "\(value)"
    case .string(let value): "\"\(value)\""
    case .array(let values): "an array of \(values.count)"
    case .object: "an object"
    }
  }
}
