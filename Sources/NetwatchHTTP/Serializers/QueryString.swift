import FoundationEssentials

/// Parameters as the query of a URL, or as the body of a form that is written like one.
///
/// Dictionaries are sorted by key. A key within another is `a[b]`, an array's elements are `a[]`, a set's are all `a`,
/// sorted by their text. Null is the bare key; true and false are 1 and 0.
public enum QueryString {
  /// - Throws: `cannotEncodeRequest` where the outermost value is no dictionary, so that there are no names; for bytes,
  ///   dates and numbers that are not finite.
  public static func encode(_ parameters: StructuredValue) throws(HTTPError) -> String {
    var fields: [String] = []
    for field in try Self.fields(of: parameters) {
      let name = escape(field.name)
      switch field.value {
      case .string(let text): fields.append("\(name)=\(escape(text))")
      case .data: throw HTTPError(.cannotEncodeRequest, "encode the query", message: "\(field.name) is bytes")
      default: fields.append(name)
      }
    }
    return fields.joined(separator: "&")
  }

  /// The text with everything escaped that RFC 3986 reserves, but for `?` and `/`, which mean nothing within a query.
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
extension QueryString {
  /// The value is null, a string or bytes.
  typealias Field = (name: String, value: StructuredValue)

  /// All of a dictionary's, in the order in which they are sent.
  static func fields(of parameters: StructuredValue) throws(HTTPError) -> [Field] {
    guard case .dictionary(let members) = parameters else { throw refusal("the parameters are no dictionary") }
    var fields: [Field] = []
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
      fields += try Self.fields(of: value, name, depth: 1)
    }
    return fields
  }

  private static func fields(of value: StructuredValue, _ name: String, depth: Int) throws(HTTPError) -> [Field] {
    guard depth < StructuredValue.deepest else { throw refusal("more than \(StructuredValue.deepest) levels") }
    var fields: [Field] = []
    switch value {
    case .bool(let value): fields = [(name, .string(value ? "1" : "0"))]
    case .integer(let value): fields = [(name, .string("\(value)"))]
    case .number(let value): fields = [(name, .string(try text(of: value, name)))]
    case .null, .string, .data: fields = [(name, value)]
    case .date: throw refusal("\(name) is a date; give a string")
    case .array(let elements):
      for element in elements { fields += try Self.fields(of: element, "\(name)[]", depth: depth + 1) }
    case .set(let elements):
      var groups: [(order: String, fields: [Field])] = []
      for element in elements {
        let group = try Self.fields(of: element, name, depth: depth + 1)
        groups.append((group.map { order(of: $0) }.joined(separator: "&"), group))
      }
      fields = groups.sorted { $0.order < $1.order }.flatMap(\.fields)
    case .dictionary(let members):
      for (key, value) in members.sorted(by: { $0.key < $1.key }) {
        fields += try Self.fields(of: value, "\(name)[\(key)]", depth: depth + 1)
      }
    }
    return fields
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
