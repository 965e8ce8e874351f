import FoundationEssentials

/// Makes values of bodies, for ``DecodableResponseSerializer`` and the verbs of a session: `JSONDecoder`, or with
/// NetwatchHTTPFoundation `PropertyListDecoder`.
public protocol DataDecoder: Sendable {
  /// The responses that the decoder can read, unless a serializer says otherwise. Default: any type with a status from 200 to
  /// 299.
  var validation: ResponseValidation { get }

  /// Makes a value of a body. Called from any thread, and from several at the same time.
  func decode<Value: Decodable>(_ type: Value.Type, body: Data) throws -> Value
}

extension DataDecoder {
  public var validation: ResponseValidation { ResponseValidation() }
}

/// Do not change the decoder's settings after a session has it.
extension JSONDecoder: DataDecoder {
  /// A status from 200 to 299, and a type of JSON.
  public var validation: ResponseValidation { .json }

  public func decode<Value: Decodable>(_ type: Value.Type, body: Data) throws -> Value { try decode(type, from: body) }
}
