import FoundationEssentials
import HTTPTypes

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
