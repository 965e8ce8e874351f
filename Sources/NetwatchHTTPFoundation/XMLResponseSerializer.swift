import Foundation
import HTTPTypes
import NetwatchHTTP

/// A serializer that checks the response and returns its unparsed XML. You start a parser, and handle its event for each
/// element.
public struct XMLResponseSerializer: ResponseSerializer {
  /// The responses that are accepted. Default: a status from 200 to 299, and `application/xml`, `text/xml` or a type that ends
  /// with `+xml`.
  public var validation: ResponseValidation

  /// Creates a serializer.
  ///
  /// - Parameter validation: The responses that are accepted. Default: a status from 200 to 299, and an XML type.
  public init(validation: ResponseValidation = .xml) { self.validation = validation }

  /// Returns the unparsed XML of a body.
  ///
  /// - Parameters:
  ///   - response: The head of the response.
  ///   - body: The whole body, without its content encoding.
  ///   - request: The request that the server has answered. Nil if it is not known.
  /// - Throws: `badServerResponse` if the status is not accepted, and `cannotDecodeContentData` if the type is not accepted.
  public func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> XMLBody {
    try validation.decode(response, body: body, request: request, as: "hand over XML") { XMLBody(data: $0) }
  }
}

extension ResponseValidation {
  /// A status from 200 to 299, and `application/xml`, `text/xml`, or a type that ends with `+xml`, such as `application/atom+xml`.
  public static let xml = ResponseValidation(contentTypes: ["application/xml", "text/xml", "*/*+xml"])
}
