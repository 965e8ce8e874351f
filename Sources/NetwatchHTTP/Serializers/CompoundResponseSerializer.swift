import FoundationEssentials
import HTTPTypes

/// Asks one serializer after the other, until one has something: a value that is not nil.
public struct CompoundResponseSerializer<Value: Sendable>: ResponseSerializer {
  /// In the order in which they are asked; ``ResponseSerializer/map(_:)`` gives unlike ones the same kind of value.
  public var serializers: [any ResponseSerializer<Value>]

  public init(_ serializers: [any ResponseSerializer<Value>]) { self.serializers = serializers }

  /// - Returns: the first value; where the first has accepted the response, but there is nothing in it, nil.
  /// - Throws: the failure that says most: one that comes with a decoded body, else one of a serializer to which the
  ///   type was right, else the first. `cannotDecodeContentData` where there are no serializers.
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
