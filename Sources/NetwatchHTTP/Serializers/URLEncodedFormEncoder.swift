import FoundationEssentials

/// Writes values as the query of a URL, or as a body of the type `application/x-www-form-urlencoded`.
///
/// Keys are sorted, so equal values give equal text. By default the text is the one that AFNetworking writes: a key within
/// another is `a[b]`, the elements of an array are `a[]`, null is the bare key, and true and false are 1 and 0.
///
/// ```swift
/// var encoder = URLEncodedFormEncoder()
/// encoder.arrays = .noBrackets
/// let body = try HTTPBody.form(filter, encoder: encoder)
/// ```
public struct URLEncodedFormEncoder: Sendable {
  /// How the name of an array's element is written.
  public enum ArrayEncoding: Sendable {
    /// `a[]=1&a[]=2`
    case brackets
    /// `a=1&a=2`
    case noBrackets
    /// `a[0]=1&a[1]=2`
    case indexInBrackets
    /// The name that the function makes of the array's name and the element's index, which counts from 0.
    case custom(@Sendable (_ name: String, _ index: Int) -> String)
  }

  /// How true and false are written.
  public enum BoolEncoding: Hashable, Sendable {
    /// `1` and `0`
    case numeric
    /// `true` and `false`
    case literal
  }

  /// How a date is written.
  public enum DateEncoding: Sendable {
    /// `2026-11-23T18:00:00Z`: RFC 3339 in UTC. A fraction of a second is left out.
    case iso8601
    /// The seconds since 1970, with a fraction if there is one.
    case secondsSince1970
    /// The milliseconds since 1970, with a fraction if there is one.
    case millisecondsSince1970
    /// The text that the function makes of the date.
    case custom(@Sendable (Date) throws -> String)
  }

  /// How keys are written.
  public enum KeyEncoding: Sendable {
    /// As they are.
    case unchanged
    /// `userName` as `user_name`, and `baseURLString` as `base_url_string`.
    case snakeCase
    /// The text that the function makes of the key.
    case custom(@Sendable (String) -> String)
  }

  /// How the key within another key is written.
  public enum KeyPathEncoding: Hashable, Sendable {
    /// `a[b]`
    case brackets
    /// `a.b`
    case dots
  }

  /// How null is written. A synthesized `Encodable` conformance leaves optional properties out that are nil: then there is
  /// no null to write.
  public enum NilEncoding: Hashable, Sendable {
    /// `a`
    case bareKey
    /// `a=`
    case emptyValue
    /// `a=null`
    case literal
    /// The key is left out.
    case omitted
  }

  /// How the name of an array's element is written. Default: `a[]`.
  public var arrays = ArrayEncoding.brackets
  /// How true and false are written. Default: 1 and 0.
  public var booleans = BoolEncoding.numeric
  /// How dates are written. Default: ISO 8601 in UTC.
  public var dates = DateEncoding.iso8601
  /// How keys are written. Default: unchanged.
  public var keys = KeyEncoding.unchanged
  /// How the key within another key is written. Default: `a[b]`.
  public var keyPaths = KeyPathEncoding.brackets
  /// How null is written. Default: the bare key.
  public var nils = NilEncoding.bareKey

  /// An encoder that writes as AFNetworking does.
  public init() {}

  /// Encodes a value that has keys: a ``StructuredValue/dictionary(_:)``, a dictionary, or a structure of your own.
  ///
  /// - Throws: `cannotEncodeRequest` if the outermost value has no keys, for bytes, for numbers that are not finite, and for
  ///   more than 512 levels.
  public func encode(_ value: some Encodable) throws(HTTPError) -> String {
    var fields: [String] = []
    for field in try self.fields(of: StructuredValue(encoding: value)) {
      let name = Self.escape(field.name)
      switch field.value {
      case .string(let text): fields.append("\(name)=\(Self.escape(text))")
      case .data: throw HTTPError(.cannotEncodeRequest, "encode the query", message: "\(field.name) is bytes")
      default: fields.append(name)
      }
    }
    return fields.joined(separator: "&")
  }

  /// Returns the text with everything percent-encoded that RFC 3986 reserves, except `?` and `/`, which have no meaning within
  /// a query.
  public static func escape(_ text: String) -> String {
    var escaped: [UInt8] = []
    escaped.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if isPlain(byte) {
        escaped.append(byte)
      } else {
        escaped += [UInt8(ascii: "%"), hexDigit(byte >> 4), hexDigit(byte & 0xf)]
      }
    }
    return String(decoding: escaped, as: UTF8.self)
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch Unicode.Scalar(byte) {
    case "a"..."z", "A"..."Z", "0"..."9", "-", ".", "_", "~", "?", "/": true
    default: false
    }
  }

  static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }

  /// The path of a request with a query added to it: behind the one that it has, and before a fragment.
  static func appending(_ query: String, to path: String) -> String {
    guard !query.isEmpty else { return path }
    let end = path.firstIndex(of: "#") ?? path.endIndex
    let place = path[..<end]
    let separator = place.contains("?") ? (place.hasSuffix("?") || place.hasSuffix("&") ? "" : "&") : "?"
    return "\(place)\(separator)\(query)\(path[end...])"
  }
}

/// The fields that queries and forms have in common.
extension URLEncodedFormEncoder {
  /// The value is null (which stands for a bare key), a string or bytes.
  typealias Field = (name: String, value: StructuredValue)

  /// All fields of a dictionary, in the order in which they are sent.
  func fields(of parameters: StructuredValue) throws(HTTPError) -> [Field] {
    guard case .dictionary(let members) = parameters else { throw Self.refusal("the parameters are no dictionary") }
    return try fields(of: members, depth: 1) { $0 }
  }

  private func fields(
    of members: [String: StructuredValue], depth: Int, name: (String) -> String
  ) throws(HTTPError) -> [Field] {
    var fields: [Field] = []
    for (key, value) in members.map({ (self.key($0.key), $0.value) }).sorted(by: { $0.0 < $1.0 }) {
      fields += try self.fields(of: value, name(key), depth: depth)
    }
    return fields
  }

  private func fields(of value: StructuredValue, _ name: String, depth: Int) throws(HTTPError) -> [Field] {
    guard depth < StructuredValue.deepest else { throw Self.refusal("more than \(StructuredValue.deepest) levels") }
    switch value {
    case .null: return nullField(name)
    case .bool(let value):
      let text = booleans == .numeric ? (value ? "1" : "0") : "\(value)"
      return [(name, .string(text))]
    case .integer(let value): return [(name, .string("\(value)"))]
    case .number(let value): return [(name, .string(try Self.text(of: value, name)))]
    case .string, .data: return [(name, value)]
    case .date(let date): return [(name, .string(try text(of: date, name)))]
    case .array(let elements):
      var fields: [Field] = []
      for (index, element) in elements.enumerated() {
        fields += try self.fields(of: element, elementName(name, index), depth: depth + 1)
      }
      return fields
    case .set(let elements):
      var groups: [(order: String, fields: [Field])] = []
      for element in elements {
        let group = try fields(of: element, name, depth: depth + 1)
        groups.append((group.map { Self.order(of: $0) }.joined(separator: "&"), group))
      }
      return groups.sorted { $0.order < $1.order }.flatMap(\.fields)
    case .dictionary(let members):
      return try fields(of: members, depth: depth + 1) { keyPaths == .dots ? "\(name).\($0)" : "\(name)[\($0)]" }
    }
  }

  private func nullField(_ name: String) -> [Field] {
    switch nils {
    case .bareKey: [(name, .null)]
    case .emptyValue: [(name, .string(""))]
    case .literal: [(name, .string("null"))]
    case .omitted: []
    }
  }

  private func elementName(_ name: String, _ index: Int) -> String {
    switch arrays {
    case .brackets: "\(name)[]"
    case .noBrackets: name
    case .indexInBrackets: "\(name)[\(index)]"
    case .custom(let make): make(name, index)
    }
  }

  private func key(_ key: String) -> String {
    switch keys {
    case .unchanged: key
    case .snakeCase: Self.snakeCase(key)
    case .custom(let make): make(key)
    }
  }

  /// A word begins at a capital letter that follows another kind of letter, or that a small letter follows.
  private static func snakeCase(_ key: String) -> String {
    let letters = Array(key)
    var text = ""
    for (index, letter) in letters.enumerated() {
      if letter.isUppercase, index > 0, letters[index - 1] != "_" {
        let isFirst = !letters[index - 1].isUppercase
        let isLastCapital = index + 1 < letters.count && letters[index + 1].isLowercase
        if isFirst || isLastCapital { text += "_" }
      }
      text += letter.lowercased()
    }
    return text
  }

  private func text(of date: Date, _ name: String) throws(HTTPError) -> String {
    switch dates {
    case .iso8601:
      // RFC 3339 has the years 0 to 9999.
      guard -62_167_219_200..<253_402_300_800 ~= date.timeIntervalSince1970 else {
        throw Self.refusal("the year of \(name) does not have four digits")
      }
      return date.ISO8601Format()
    case .secondsSince1970: return try Self.text(of: date.timeIntervalSince1970, name)
    case .millisecondsSince1970: return try Self.text(of: date.timeIntervalSince1970 * 1_000, name)
    case .custom(let make):
      do {
        return try make(date)
      } catch {
        throw HTTPError(.cannotEncodeRequest, "encode the date \(name)", message: "\(error)", underlying: error)
      }
    }
  }

  /// Stands for the field among those of a set.
  private static func order(of field: Field) -> String {
    switch field.value {
    case .string(let text): "\(field.name)=\(text)"
    case .data(let data): "\(field.name)=\(data.base64EncodedString())"
    default: field.name
    }
  }

  /// A number that happens to be whole is written as such.
  private static func text(of number: Double, _ name: String) throws(HTTPError) -> String {
    guard number.isFinite else { throw refusal("\(name) is \(number)") }
    return Int64(exactly: number).map { "\($0)" } ?? "\(number)"
  }

  private static func refusal(_ message: String) -> HTTPError {
    HTTPError(.cannotEncodeRequest, "encode the parameters", message: message)
  }
}
