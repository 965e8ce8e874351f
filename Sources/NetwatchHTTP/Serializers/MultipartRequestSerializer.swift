import FoundationEssentials
import HTTPTypes

/// A serializer that sends parameters and files as a multipart form.
public struct MultipartRequestSerializer: RequestSerializer {
  /// The serializer that sets the header fields of the request.
  public var base: any RequestSerializer
  /// The parts of the form, which follow the parameters.
  public var form: MultipartFormData

  /// Creates a serializer for a form.
  ///
  /// - Parameters:
  ///   - base: The serializer that sets the header fields of the request. Default: a new ``HTTPRequestSerializer``.
  ///   - form: The parts of the form.
  public init(base: any RequestSerializer = HTTPRequestSerializer(), form: MultipartFormData) {
    self.base = base
    self.form = form
  }

  /// Returns the request, with the form as its body. Its content type is always that of the form, because no server could read
  /// the form with another one.
  ///
  /// - Parameters:
  ///   - request: The request, with its method and its own header fields.
  ///   - url: The URL of the request. Nil if the request has one already.
  ///   - parameters: The fields before the parts of the form. Nil for none.
  /// - Throws: `cannotEncodeRequest` for GET and HEAD, which have no body, and for a form that cannot be encoded.
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
