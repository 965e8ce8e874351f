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

/// A decoder that makes values from bodies, for ``DecodableResponseSerializer`` and the verbs of a session: `JSONDecoder`, or
/// `PropertyListDecoder` with NetwatchHTTPFoundation.
public protocol DataDecoder: Sendable {
  /// The responses that the decoder can read, unless a serializer overrides it. Default: any type with a status from 200 to
  /// 299.
  var validation: ResponseValidation { get }

  /// Makes a value from a body. Called from any thread, and possibly from several at the same time.
  func decode<Value: Decodable>(_ type: Value.Type, body: Data) throws -> Value
}

extension DataDecoder {
  /// The default: any type with a status from 200 to 299.
  public var validation: ResponseValidation { ResponseValidation() }
}

/// Decodes the JSON bodies of a session. Do not change the decoder's settings after a session has it.
extension JSONDecoder: DataDecoder {
  /// A status from 200 to 299, and a JSON type.
  public var validation: ResponseValidation { .json }

  /// Makes a value from a JSON body.
  public func decode<Value: Decodable>(_ type: Value.Type, body: Data) throws -> Value { try decode(type, from: body) }
}
