import Foundation
import NetwatchHTTP

/// Conversions to and from the objects of Foundation's JSON and property lists.
extension StructuredValue {
  /// The format to write, which decides which values are allowed.
  enum Writing: String {
    case json = "JSON"
    case xmlPropertyList = "an XML property list"
    case binaryPropertyList = "a binary property list"
  }

  /// - Throws: `cannotEncodeRequest` for a value that the format cannot contain.
  func foundationObject(for writing: Writing, depth: Int = 0) throws(HTTPError) -> Any {
    guard depth < Self.deepest else { throw writing.refusal("more than \(Self.deepest) levels") }
    switch self {
    case .null:
      guard writing == .json else { throw writing.refusal("null") }
      return NSNull()
    case .bool(let value): return value
    case .integer(let value): return value
    case .unsigned(let value): return value
    case .number(let value):
      guard writing != .json || value.isFinite else { throw writing.refusal("\(value)") }
      return value
    case .string(let text):
      try writing.check(text)
      return text
    case .date(let date):
      guard writing != .json else { throw writing.refusal("a date") }
      return date
    case .data(let data):
      guard writing != .json else { throw writing.refusal("bytes") }
      return data
    case .set: throw writing.refusal("a set")
    case .array(let elements):
      var objects: [Any] = []
      for element in elements { objects.append(try element.foundationObject(for: writing, depth: depth + 1)) }
      return objects
    case .dictionary(let members):
      var objects: [String: Any] = [:]
      for (key, value) in members {
        try writing.check(key)
        objects[key] = try value.foundationObject(for: writing, depth: depth + 1)
      }
      return objects
    }
  }

  /// Nil for objects that neither JSON nor a property list contains, such as the references in archives.
  init?(foundation object: Any, depth: Int = 0) {
    guard depth < Self.deepest else { return nil }
    switch object {
    case is NSNull: self = .null
    case let text as String: self = .string(text)
    case let number as NSNumber: self = Self.value(of: number)
    case let date as Date: self = .date(date)
    case let data as Data: self = .data(data)
    case let objects as [Any]:
      var elements: [StructuredValue] = []
      elements.reserveCapacity(objects.count)
      for object in objects {
        guard let element = StructuredValue(foundation: object, depth: depth + 1) else { return nil }
        elements.append(element)
      }
      self = .array(elements)
    case let objects as [String: Any]:
      var members: [String: StructuredValue] = [:]
      for (key, object) in objects {
        guard let value = StructuredValue(foundation: object, depth: depth + 1) else { return nil }
        members[key] = value
      }
      self = .dictionary(members)
    default: return nil
    }
  }

  private static func value(of number: NSNumber) -> StructuredValue {
    // Foundation's readers use the type `char` for true and false only.
    switch Unicode.Scalar(UInt8(bitPattern: unsafe number.objCType.pointee)) {
    case "c": .bool(number.boolValue)
    case "d", "f": .number(number.doubleValue)
    case "Q" where number.uint64Value > Int64.max: .unsigned(number.uint64Value)
    default: .integer(number.int64Value)
    }
  }
}

extension StructuredValue.Writing {
  func refusal(_ what: String) -> HTTPError {
    HTTPError(.cannotEncodeRequest, "encode the parameters", message: "\(rawValue) cannot hold \(what)")
  }

  /// XML cannot contain most control characters, but Foundation writes them nevertheless.
  func check(_ text: String) throws(HTTPError) {
    guard self == .xmlPropertyList else { return }
    let isWritable = text.unicodeScalars.allSatisfy { scalar in
      switch scalar.value {
      case 0x9, 0xa, 0xd: true
      case 0..<0x20, 0xfffe, 0xffff: false
      default: true
      }
    }
    guard isWritable else { throw refusal("control characters") }
  }
}
