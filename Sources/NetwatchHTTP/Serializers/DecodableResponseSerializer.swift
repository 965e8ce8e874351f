import FoundationEssentials
import HTTPTypes

/// Makes a value of a type of your own, from JSON or whatever else the decoder reads.
///
/// An empty body becomes nil if the type is an optional one, and is an error otherwise.
public struct DecodableResponseSerializer<Value: Decodable & Sendable>: ResponseSerializer {
  /// The responses that are accepted. Default: those that the decoder can read.
  public var validation: ResponseValidation
  private let decoder: any DataDecoder

  /// - Parameters:
  ///   - type: The type that the body is decoded to.
  ///   - decoder: Reads the body. Default: a new `JSONDecoder`. Do not change its settings afterwards.
  ///   - validation: The responses that are accepted. Default: ``DataDecoder/validation`` of the decoder.
  public init(
    _ type: Value.Type, decoder: any DataDecoder = JSONDecoder(), validation: ResponseValidation? = nil
  ) {
    self.decoder = decoder
    self.validation = validation ?? decoder.validation
  }

  public func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> Value {
    try validation.decode(response, body: body, request: request, as: "decode \(Value.self)") { body in
      if body.isEmpty, let nothing = (Value.self as? any ExpressibleByNilLiteral.Type)?.init(nilLiteral: ()) as? Value {
        return nothing
      }
      return try decoder.decode(Value.self, body: body)
    }
  }
}
