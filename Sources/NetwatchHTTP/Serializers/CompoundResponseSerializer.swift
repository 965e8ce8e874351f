import FoundationEssentials
import HTTPTypes

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
