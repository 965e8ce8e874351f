import FoundationEssentials
import HTTPTypes

/// A serializer that checks a response, and makes a value from its body.
public protocol ResponseSerializer<Value>: Sendable {
  /// The type of the value that the serializer makes.
  associatedtype Value: Sendable

  /// Checks a response, and returns the value that it makes from the body. It is never called on the thread of the transfers,
  /// and not for a failed transfer.
  ///
  /// - Parameters:
  ///   - response: The head of the response.
  ///   - body: The whole body, without its content encoding.
  ///   - request: The request that the server has answered. Nil if it is not known.
  /// - Throws: `badServerResponse` if the status is not accepted; the error then also has the decoded body, if there is one.
  ///   `cannotDecodeContentData` if the type or the body is not accepted.
  func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> Value
}

extension ResponseSerializer {
  /// Returns a serializer that converts the value of this one.
  ///
  /// - Parameter transform: Converts a value.
  public func map<Other: Sendable>(
    _ transform: @escaping @Sendable (Value) -> Other
  ) -> MappedResponseSerializer<Self, Other> {
    MappedResponseSerializer(base: self, transform: transform)
  }
}

/// A serializer that checks the response and returns its body unchanged.
public struct HTTPResponseSerializer: ResponseSerializer {
  /// The responses that are accepted. Default: any type with a status from 200 to 299.
  public var validation: ResponseValidation

  /// Creates a serializer.
  ///
  /// - Parameter validation: The responses that are accepted. Default: any type with a status from 200 to 299.
  public init(validation: ResponseValidation = ResponseValidation()) { self.validation = validation }

  /// Returns the body of an accepted response.
  ///
  /// - Parameters:
  ///   - response: The head of the response.
  ///   - body: The whole body, without its content encoding.
  ///   - request: The request that the server has answered. Nil if it is not known.
  /// - Throws: `badServerResponse` if the status is not accepted, and `cannotDecodeContentData` if the type is not accepted.
  public func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> Data {
    try validation.check(response, body: body, request: request)
    return body
  }
}

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

/// A serializer that converts the value of another serializer, so that different ones can be combined in a
/// ``CompoundResponseSerializer``. See ``ResponseSerializer/map(_:)``.
public struct MappedResponseSerializer<Base: ResponseSerializer, Value: Sendable>: ResponseSerializer {
  let base: Base
  fileprivate let transform: @Sendable (Base.Value) -> Value

  /// Returns the converted value of the base serializer.
  ///
  /// - Parameters:
  ///   - response: The head of the response.
  ///   - body: The whole body, without its content encoding.
  ///   - request: The request that the server has answered. Nil if it is not known.
  /// - Throws: The errors of the base serializer. ``HTTPError/decoded`` is converted as well.
  public func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> Value {
    do {
      return transform(try base.serialize(response, body: body, request: request))
    } catch {
      var error = error
      if let decoded = error.decoded, let value = decoded as? Base.Value { error.decoded = transform(value) }
      throw error
    }
  }
}

/// A serializer that tries several serializers in order, until one returns a value that is not nil.
public struct CompoundResponseSerializer<Value: Sendable>: ResponseSerializer {
  /// The serializers in the order in which they are tried. ``ResponseSerializer/map(_:)`` gives different ones the same type of
  /// value.
  public var serializers: [any ResponseSerializer<Value>]

  /// Creates a serializer from others.
  ///
  /// - Parameter serializers: The serializers in the order in which they are tried.
  public init(_ serializers: [any ResponseSerializer<Value>]) { self.serializers = serializers }

  /// Returns the first value that is not nil.
  ///
  /// - Parameters:
  ///   - response: The head of the response.
  ///   - body: The whole body, without its content encoding.
  ///   - request: The request that the server has answered. Nil if it is not known.
  /// - Returns: The first value that is not nil. Nil if serializers accepted the response, but none found a value.
  /// - Throws: The most informative failure: one with a decoded body, else one of a serializer that accepts the type, else the
  ///   first. `cannotDecodeContentData` if there are no serializers.
  public func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> Value {
    var nothing: Value?
    var worst: HTTPError?
    for serializer in serializers {
      do {
        let value = try serializer.serialize(response, body: body, request: request)
        guard let optional = value as? any OptionalValue, optional.isNil else { return value }
        nothing = nothing ?? .some(value)
      } catch {
        if worst.map({ Self.weight(of: error) > Self.weight(of: $0) }) ?? true { worst = error }
      }
    }
    if let nothing { return nothing }
    throw worst ?? HTTPError(.cannotDecodeContentData, "decode the body", message: "there is no serializer for it")
  }

  private static func weight(of error: HTTPError) -> Int {
    if error.decoded != nil { return 2 }
    let typeFailure = error.kind == .badServerResponse ? error.underlying as? HTTPError : error
    return typeFailure?.operation == ResponseValidation.typeCheck ? 0 : 1
  }
}

/// Optionals of an unknown type.
protocol OptionalValue {
  static var nothing: Self { get }
  var isNil: Bool { get }
}

extension Optional: OptionalValue {
  static var nothing: Self { nil }
  var isNil: Bool { self == nil }
}
