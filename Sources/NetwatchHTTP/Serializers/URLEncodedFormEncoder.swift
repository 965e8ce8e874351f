import FoundationEssentials

/// An encoder that writes values as the query of a URL, or as a body of the type `application/x-www-form-urlencoded`.
///
/// By default, keys are sorted, so equal values give equal text, and the text is the same as AFNetworking's. A nested key is
/// `a[b]`, the elements of an array are `a[]`, null is the bare key, and true and false are 1 and 0.
///
/// ```swift
/// var encoder = URLEncodedFormEncoder()
/// encoder.arrays = .noBrackets
/// let body = try HTTPBody.form(filter, encoder: encoder)
/// ```
public struct URLEncodedFormEncoder: Sendable {
  /// The format of the name of an array's element.
  public enum ArrayEncoding: Sendable {
    /// `a[]=1&a[]=2`
    case brackets
    /// `a=1&a=2`
    case noBrackets
    /// `a[0]=1&a[1]=2`
    case indexInBrackets
    /// The name that the function returns for the array's name and the element's index, which counts from 0.
    case custom(@Sendable (_ name: String, _ index: Int) -> String)
  }

  /// The format of true and false.
  public enum BoolEncoding: Hashable, Sendable {
    /// `1` and `0`
    case numeric
    /// `true` and `false`
    case literal
  }

  /// The format of bytes.
  public enum DataEncoding: Sendable {
    /// Bytes are not written: encoding fails with `cannotEncodeRequest`.
    case refused
    /// Base64 (RFC 4648, section 4). Its `+` and `=` are percent-encoded.
    case base64
    /// The text that the function returns for the bytes.
    case custom(@Sendable (Data) throws -> String)
  }

  /// The format of a date.
  public enum DateEncoding: Sendable {
    /// `2026-11-23T18:00:00Z`: RFC 3339 in UTC. A fraction of a second is left out.
    case iso8601
    /// The seconds since 1970, with a fraction if there is one.
    case secondsSince1970
    /// The milliseconds since 1970, with a fraction if there is one.
    case millisecondsSince1970
    /// The text that the function returns for the date.
    case custom(@Sendable (Date) throws -> String)
  }

  /// The format of keys.
  public enum KeyEncoding: Sendable {
    /// Keys are not changed.
    case unchanged
    /// `userName` as `user_name`, and `baseURLString` as `base_url_string`.
    case snakeCase
    /// The text that the function returns for the key.
    case custom(@Sendable (String) -> String)
  }

  /// The format of a key within another key.
  public enum KeyPathEncoding: Sendable {
    /// `a[b]`
    case brackets
    /// `a.b`
    case dots
    /// The name that the function returns for the outer name and the key within it.
    case custom(@Sendable (_ name: String, _ key: String) -> String)
  }

  /// The format of null. A synthesized `Encodable` conformance leaves out optional properties that are nil, so no null is
  /// written for them.
  public enum NilEncoding: Sendable {
    /// `a`
    case bareKey
    /// `a=`
    case emptyValue
    /// `a=null`
    case literal
    /// The key is left out.
    case omitted
    /// The value that the function returns for the key's name. If it returns nil, the key is left out.
    case custom(@Sendable (_ name: String) -> String?)
  }

  /// The format of a space.
  public enum SpaceEncoding: Hashable, Sendable {
    /// `%20`
    case percentEncoded
    /// `+`, as in the forms of browsers. A plus sign is `%2B` in both cases.
    case plus
  }

  /// The format of the name of an array's element. Default: `a[]`.
  public var arrays = ArrayEncoding.brackets
  /// The format of true and false. Default: 1 and 0.
  public var booleans = BoolEncoding.numeric
  /// The format of bytes. Default: they are refused.
  public var data = DataEncoding.refused
  /// The format of dates. Default: ISO 8601 in UTC.
  public var dates = DateEncoding.iso8601
  /// The format of keys. Default: unchanged.
  public var keys = KeyEncoding.unchanged
  /// The format of a key within another key. Default: `a[b]`.
  public var keyPaths = KeyPathEncoding.brackets
  /// The format of null. Default: the bare key.
  public var nils = NilEncoding.bareKey
  /// The format of spaces. Default: `%20`.
  public var spaces = SpaceEncoding.percentEncoded
  /// Whether the keys of each level are sorted. Default: true.
  ///
  /// If it is false, keys have the order in which a value encodes them. For a struct, that is the order of its properties. The
  /// keys of a ``StructuredValue`` are always sorted. A Swift dictionary has no defined order.
  public var sortsKeys = true
  /// The ASCII characters that are not percent-encoded. Default: letters, digits and `-._~?/`. These are the unreserved
  /// characters of RFC 3986 and the two that have no meaning within a query.
  ///
  /// Some characters are always percent-encoded, because they would change the meaning: spaces, control characters, all
  /// non-ASCII characters, `&`, `#`, `%` and `+`, and also `=` in names.
  public var allowedCharacters: Set<Unicode.Scalar> {
    get { plain.characters }
    set { plain = PlainCharacters(newValue) }
  }
  private var plain = PlainCharacters.ofQuery

  /// Creates an encoder that writes as AFNetworking does.
  public init() {}

  /// Encodes a value that has keys: a ``StructuredValue/dictionary(_:)``, a dictionary, or a struct of your own.
  ///
  /// - Parameter value: The value to encode.
  /// - Returns: The query or form, without a leading `?`.
  /// - Throws: `cannotEncodeRequest` if the outermost value has no keys, for numbers that are not finite, for more than 512
  ///   levels, and for bytes unless ``data`` sets a format.
  public func encode(_ value: some Encodable) throws(HTTPError) -> String {
    var texts: [String] = []
    for field in try fields(encoding: value) {
      let name = plain.escape(field.name, spaces, isName: true)
      switch field.value {
      case .string(let text): texts.append("\(name)=\(plain.escape(text, spaces))")
      case .data(let data): texts.append("\(name)=\(plain.escape(try text(of: data, field.name), spaces))")
      default: texts.append(name)
      }
    }
    return texts.joined(separator: "&")
  }

  private func fields(encoding value: some Encodable) throws(HTTPError) -> [Field] {
    if sortsKeys || value is StructuredValue { return try fields(of: StructuredValue(encoding: value)) }
    return try fields(of: StructuredEncoder.Node(encoding: value), nil, depth: 0)
  }

  /// Returns the text with every byte percent-encoded except ASCII letters, digits and `-._~?/`.
  ///
  /// - Parameter text: The text to encode.
  public static func escape(_ text: String) -> String { PlainCharacters.ofQuery.escape(text) }

  static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }

  /// Returns the path of a request with a query added: after an existing query, and before a fragment.
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
  /// A field. Its value is null (which means a bare key), a string or bytes.
  typealias Field = (name: String, value: StructuredValue)

  /// Returns all fields of a dictionary in the order in which they are sent.
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

  /// Returns the fields of an encoded value, with the keys in its order.
  private func fields(of node: StructuredEncoder.Node, _ name: String?, depth: Int) throws(HTTPError) -> [Field] {
    guard depth < StructuredValue.deepest else { throw Self.refusal("more than \(StructuredValue.deepest) levels") }
    var fields: [Field] = []
    switch (node.content, name) {
    case (.nothing, _): break
    case (.members(let members), _):
      for (key, node) in members.inOrder {
        let key = self.key(key)
        fields += try self.fields(of: node, name.map { memberName($0, key) } ?? key, depth: depth + 1)
      }
    case (.value(let value), let name?): fields = try self.fields(of: value, name, depth: depth)
    case (.elements(let nodes), let name?):
      for (index, node) in nodes.enumerated() {
        fields += try self.fields(of: node, elementName(name, index), depth: depth + 1)
      }
    case (.value(let value), nil): fields = try self.fields(of: value)
    case (.elements, nil): throw Self.refusal("the parameters are no dictionary")
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
    case .unsigned(let value): return [(name, .string("\(value)"))]
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
      return try fields(of: members, depth: depth + 1) { memberName(name, $0) }
    }
  }

  private func nullField(_ name: String) -> [Field] {
    switch nils {
    case .bareKey: [(name, .null)]
    case .emptyValue: [(name, .string(""))]
    case .literal: [(name, .string("null"))]
    case .omitted: []
    case .custom(let make): make(name).map { [(name, .string($0))] } ?? []
    }
  }

  private func memberName(_ name: String, _ key: String) -> String {
    switch keyPaths {
    case .brackets: "\(name)[\(key)]"
    case .dots: "\(name).\(key)"
    case .custom(let make): make(name, key)
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

  /// A word begins at a capital letter that follows another kind of character, or that precedes a small letter.
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
      // RFC 3339 supports the years 0 to 9999.
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

  private func text(of data: Data, _ name: String) throws(HTTPError) -> String {
    switch self.data {
    case .refused: throw Self.refusal("\(name) is bytes, and the encoder's `data` does not say how they are written")
    case .base64: return data.base64EncodedString()
    case .custom(let make):
      do {
        return try make(data)
      } catch {
        throw HTTPError(.cannotEncodeRequest, "encode the bytes \(name)", message: "\(error)", underlying: error)
      }
    }
  }

  /// The sort key of a field among those of a set.
  private static func order(of field: Field) -> String {
    switch field.value {
    case .string(let text): "\(field.name)=\(text)"
    case .data(let data): "\(field.name)=\(data.base64EncodedString())"
    default: field.name
    }
  }

  /// Writes a number with a whole value without a fraction.
  private static func text(of number: Double, _ name: String) throws(HTTPError) -> String {
    guard number.isFinite else { throw refusal("\(name) is \(number)") }
    return Int64(exactly: number).map { "\($0)" } ?? "\(number)"
  }

  private static func refusal(_ message: String) -> HTTPError {
    HTTPError(.cannotEncodeRequest, "encode the parameters", message: message)
  }
}
