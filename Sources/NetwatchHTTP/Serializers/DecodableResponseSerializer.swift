import FoundationEssentials
import HTTPTypes

/// A serializer that decodes a body to a type of your own, from JSON or any other format that the decoder reads.
///
/// An empty body, or one of white space, becomes nil if the type is optional. Otherwise it is an error.
public struct DecodableResponseSerializer<Value: Decodable & Sendable>: ResponseSerializer {
  /// The responses that are accepted. Default: those that the decoder can read.
  public var validation: ResponseValidation
  private let decoder: any DataDecoder

  /// Creates a serializer for a type.
  ///
  /// - Parameters:
  ///   - type: The type that the body is decoded to.
  ///   - decoder: The decoder of the body. Default: a new `JSONDecoder`. Do not change its settings afterwards.
  ///   - validation: The responses that are accepted. Default: the ``DataDecoder/validation`` of the decoder.
  public init(
    _ type: Value.Type, decoder: any DataDecoder = JSONDecoder(), validation: ResponseValidation? = nil
  ) {
    self.decoder = decoder
    self.validation = validation ?? decoder.validation
  }

  /// Returns the decoded value of a body.
  ///
  /// - Parameters:
  ///   - response: The head of the response.
  ///   - body: The whole body, without its content encoding.
  ///   - request: The request that the server has answered. Nil if it is not known.
  /// - Throws: `badServerResponse` if the status is not accepted, with the value as ``HTTPError/decoded`` if there is one.
  ///   `cannotDecodeContentData` if the type is not accepted or the body cannot be decoded.
  public func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> Value {
    try validation.decode(response, body: body, request: request, as: "decode \(Value.self)") { body in
      if let type = Value.self as? any OptionalValue.Type, let nothing = type.nothing as? Value,
        body.allSatisfy({ " \t\r\n".utf8.contains($0) })
      {
        return nothing
      }
      return try decoder.decode(Value.self, body: body)
    }
  }
}
