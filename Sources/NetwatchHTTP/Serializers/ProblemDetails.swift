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
      members = try JSONDecoder().decode([String: StructuredValue].self, from: json)
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
