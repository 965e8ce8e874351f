import FoundationEssentials
import HTTPTypes

/// Compresses the bodies of another serializer with gzip. As ``HTTPSessionConfiguration/requestSerializer``, it does so for a
/// whole session.
public struct CompressedRequestSerializer: RequestSerializer {
  /// The serializer that makes the requests.
  public var base: any RequestSerializer
  /// The length in bytes from which a body is compressed. Default: 1,024, because a shorter body most often fits into one packet
  /// as it is. A body whose length is not known is always compressed.
  public var minimumLength: Int64

  public init(base: any RequestSerializer = HTTPRequestSerializer(), minimumLength: Int64 = 1_024) {
    self.base = base
    self.minimumLength = minimumLength
  }

  /// A body that says how it is encoded stays as it is, and so does one whose request has a `Content-Encoding`.
  public func serialize(
    _ request: HTTPRequest, url: URL?, parameters: StructuredValue?
  ) throws(HTTPError) -> (HTTPRequest, HTTPBody) {
    let (request, body) = try base.serialize(request, url: url, parameters: parameters)
    guard body.length ?? .max >= minimumLength, !request.headerFields.contains(.contentEncoding) else {
      return (request, body)
    }
    return (request, body.compressed())
  }
}
