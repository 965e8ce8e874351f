import FoundationEssentials
import HTTPTypes

/// Checks the response, and hands its body over as it is.
public struct HTTPResponseSerializer: ResponseSerializer {
  /// Default: any type with a status from 200 to 299.
  public var validation: ResponseValidation

  public init(validation: ResponseValidation = ResponseValidation()) { self.validation = validation }

  public func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> Data {
    try validation.check(response, body: body, request: request)
    return body
  }
}
