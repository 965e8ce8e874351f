import FoundationEssentials
import HTTPTypes

/// Makes a value of a type of one's own, from JSON or a property list.
///
/// An empty body is nil where the type is an optional one, and an error otherwise.
public struct DecodableResponseSerializer<Value: Decodable & Sendable>: ResponseSerializer {
  /// Default: that of JSON, or of property lists.
  public var validation: ResponseValidation
  private let decode: @Sendable (Data) throws -> Value

  /// - Parameters:
  ///   - type: What the body is.
  ///   - decoder: Not to be changed afterwards.
  ///   - validation: Which statuses and types are accepted.
  public init(_ type: Value.Type, decoder: JSONDecoder = JSONDecoder(), validation: ResponseValidation = .json) {
    self.validation = validation
    decode = { try decoder.decode(type, from: $0) }
  }

  package init(validation: ResponseValidation, decode: @escaping @Sendable (Data) throws -> Value) {
    self.validation = validation
    self.decode = decode
  }

  public func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> Value {
    try validation.decode(response, body: body, request: request, as: "decode \(Value.self)") { body in
      if body.isEmpty, let nothing = (Value.self as? any ExpressibleByNilLiteral.Type)?.init(nilLiteral: ()) as? Value {
        return nothing
      }
      return try decode(body)
    }
  }
}
