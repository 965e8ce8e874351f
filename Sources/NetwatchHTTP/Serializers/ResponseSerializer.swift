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
