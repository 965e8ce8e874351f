import FoundationEssentials
import HTTPTypes

/// A server's description of a failed request (RFC 9457, `application/problem+json`). See ``HTTPError/problem``.
public struct ProblemDetails: Hashable, Sendable {
  /// The type of the problem: a URI, or a reference relative to the URL of the request. Default: `about:blank`, which means
  /// that the status describes the problem.
  public var type = "about:blank"
  /// A short summary for people, the same for all problems of one ``type``. Nil if there is none.
  public var title: String?
  /// The status that the origin of the problem has set. A proxy may have changed the status of the response. Nil if there is
  /// none.
  public var status: Int?
  /// A description of this occurrence, for people. Nil if there is none.
  public var detail: String?
  /// An identifier of this occurrence: a URI or a reference to one. Nil if there is none.
  public var instance: String?
  /// The other members, such as `errors` or `balance`, whose meaning ``type`` defines. Default: empty.
  public var extensions: [String: StructuredValue] = [:]

  /// Creates a problem with the default values.
  public init() {}

  /// Reads a problem from JSON. A member with another type of value than RFC 9457 defines is ignored (section 3.1).
  ///
  /// - Parameter json: The body.
  /// - Throws: `cannotDecodeContentData` if the body is not a JSON object.
  public init(json: Data) throws(HTTPError) {
    let members: [String: StructuredValue]
    do {
      members = try JSONDecoder().decode([String: JSONMember].self, from: json).mapValues(\.value)
    } catch {
      throw HTTPError(.cannotDecodeContentData, "decode a problem", message: "\(error)", underlying: error)
    }
    for (name, value) in members {
      switch name {
      case "type": type = value.string ?? type
      case "title": title = value.string
      case "status": status = value.integer.flatMap { 100...599 ~= $0 ? Int($0) : nil }
      case "detail": detail = value.string
      case "instance": instance = value.string
      default: extensions[name] = value
      }
    }
  }
}

extension HTTPError {
  /// The problem that the server describes, if the response has the type `application/problem+json`. It is decoded from
  /// ``body`` at each call.
  ///
  /// It is available for a status that is not accepted, with every response serializer. Nil for another type, for a body that
  /// is not JSON, and for a download, whose body is not kept.
  public var problem: ProblemDetails? {
    guard let body, response?.mediaType == "application/problem+json" else { return nil }
    return try? ProblemDetails(json: body)
  }
}

/// Any JSON value. The decoder itself refuses values that are nested too deeply for the stack.
private struct JSONMember: Decodable {
  let value: StructuredValue

  init(from decoder: any Decoder) throws {
    if let members = try? decoder.container(keyedBy: Key.self) {
      var values: [String: StructuredValue] = [:]
      for key in members.allKeys { values[key.stringValue] = try members.decode(JSONMember.self, forKey: key).value }
      value = .dictionary(values)
    } else if var elements = try? decoder.unkeyedContainer() {
      var values: [StructuredValue] = []
      while !elements.isAtEnd { values.append(try elements.decode(JSONMember.self).value) }
      value = .array(values)
    } else {
      value = try Self.scalar(decoder.singleValueContainer())
    }
  }

  private static func scalar(_ container: any SingleValueDecodingContainer) throws -> StructuredValue {
    if container.decodeNil() { return .null }
    if let value = try? container.decode(Bool.self) { return .bool(value) }
    if let value = try? container.decode(Int64.self) { return .integer(value) }
    if let value = try? container.decode(Double.self) { return .number(value) }
    return .string(try container.decode(String.self))
  }

  private struct Key: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }
}
