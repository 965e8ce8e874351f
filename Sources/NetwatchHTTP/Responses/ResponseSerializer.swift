import FoundationEssentials
import HTTPTypes

/// Judges a response, and makes a value of its body.
public protocol ResponseSerializer<Value>: Sendable {
  associatedtype Value: Sendable

  /// Never called on the thread of the transfers, and not for a transfer that has failed.
  ///
  /// - Parameters:
  ///   - response: The head.
  ///   - body: Whole, and without its content encoding.
  ///   - request: What this is the answer to, where that is known.
  /// - Throws: `badServerResponse` for a status, `cannotDecodeContentData` for a type or a body that is not accepted.
  ///   Of a bad status, the error also has what the body could be decoded to.
  func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> Value
}

extension ResponseSerializer {
  /// The same, with its value turned into another.
  public func map<Other: Sendable>(
    _ transform: @escaping @Sendable (Value) -> Other
  ) -> MappedResponseSerializer<Self, Other> {
    MappedResponseSerializer(base: self, transform: transform)
  }
}

/// A serializer with its value turned into another, so that unlike ones can stand together in a
/// ``CompoundResponseSerializer``.
public struct MappedResponseSerializer<Base: ResponseSerializer, Value: Sendable>: ResponseSerializer {
  let base: Base
  let transform: @Sendable (Base.Value) -> Value

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
