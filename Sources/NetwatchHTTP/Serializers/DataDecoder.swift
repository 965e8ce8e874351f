import FoundationEssentials

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
