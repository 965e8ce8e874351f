import Foundation
import HTTPTypes
import NetwatchHTTP

/// Checks the response, and hands over a parser of its body that has not started: an event for each element is the
/// user's to follow.
public struct XMLResponseSerializer: ResponseSerializer {
  /// Default: a status from 200 to 299, and `application/xml`, `text/xml` or a type that ends with `+xml`.
  public var validation: ResponseValidation

  public init(validation: ResponseValidation = .xml) { self.validation = validation }

  public func serialize(_ response: HTTPResponse, body: Data, request: HTTPRequest?) throws(HTTPError) -> XMLBody {
    try validation.decode(response, body: body, request: request, as: "hand over XML") { XMLBody(data: $0) }
  }
}

extension ResponseValidation {
  /// A status from 200 to 299, and `application/xml`, `text/xml`, or a type that ends with `+xml`, such as `application/atom+xml`.
  public static let xml = ResponseValidation(contentTypes: ["application/xml", "text/xml", "*/*+xml"])
}
