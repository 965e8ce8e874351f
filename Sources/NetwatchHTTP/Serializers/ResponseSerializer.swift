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
