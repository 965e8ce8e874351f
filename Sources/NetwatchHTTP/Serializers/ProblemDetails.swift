import FoundationEssentials
import HTTPTypes

/// What a server says of a request that has failed (RFC 9457, `application/problem+json`). See ``HTTPError/problem``.
public struct ProblemDetails: Hashable, Sendable {
  /// The kind of the problem, a URI or a reference to one, which is relative to the URL of the request. Default: `about:blank`,
  /// which means that the problem is no other than its status says.
  public var type = "about:blank"
  /// A short summary for people, the same for all problems of ``type``.
  public var title: String?
  /// The status, as whoever made the problem has set it. A proxy may have changed that of the response.
  public var status: Int?
  /// What went wrong this time, for people.
  public var detail: String?
  /// This occurrence of the problem, a URI or a reference to one.
  public var instance: String?
  /// The other members, which ``type`` defines, such as `errors` or `balance`.
  public var extensions: [String: StructuredValue] = [:]

  public init() {}

  /// Reads a body. A member whose value is of another kind than RFC 9457 says is left out (section 3.1).
  ///
  /// - Throws: `cannotDecodeContentData` for what is no object of JSON.
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
  /// What the server says of the failure, if the response is of the type `application/problem+json`. It is read from ``body`` for
  /// each call.
  ///
  /// A status that is not accepted has it with every response serializer, whatever type of value that makes. Nil for another type,
  /// for a body that is no JSON, and for a download, whose body is not kept.
  public var problem: ProblemDetails? {
    guard let body, response?.mediaType == "application/problem+json" else { return nil }
    return try? ProblemDetails(json: body)
  }
}

/// Any value of JSON. The decoder itself refuses what is too deep for a stack.
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
