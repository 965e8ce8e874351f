import FoundationEssentials
import HTTPTypes

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
