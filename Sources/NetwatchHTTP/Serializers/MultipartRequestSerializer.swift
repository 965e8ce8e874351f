import FoundationEssentials
import HTTPTypes

/// Parameters and files as a form of many parts.
public struct MultipartRequestSerializer: RequestSerializer {
  /// Whose header fields the request has.
  public var base: any RequestSerializer
  public var form: MultipartFormData

  public init(base: any RequestSerializer = HTTPRequestSerializer(), form: MultipartFormData) {
    self.base = base
    self.form = form
  }

  /// The type is always the form's, since no server could read it under another.
  ///
  /// - Throws: `cannotEncodeRequest` for GET and HEAD, which have no body.
  public func serialize(
    _ request: HTTPRequest, url: URL?, parameters: StructuredValue?
  ) throws(HTTPError) -> (HTTPRequest, HTTPBody) {
    guard request.method != .get, request.method != .head else {
      throw HTTPError(.cannotEncodeRequest, "send a form", message: "\(request.method) has no body")
    }
    let body = try form.body(parameters: parameters)
    var (request, _) = try base.serialize(request, url: url, parameters: nil)
    request.headerFields[.contentType] = body.contentType
    return (request, body)
  }
}
