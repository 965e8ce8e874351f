import FoundationEssentials
import HTTPTypes

/// A serializer that converts the value of another serializer, so that different ones can be combined in a
/// ``CompoundResponseSerializer``. See ``ResponseSerializer/map(_:)``.
public struct MappedResponseSerializer<Base: ResponseSerializer, Value: Sendable>: ResponseSerializer {
  let base: Base
  let transform: @Sendable (Base.Value) -> Value

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
