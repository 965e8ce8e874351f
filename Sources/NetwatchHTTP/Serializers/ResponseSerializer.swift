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
