import FoundationEssentials
import HTTPTypes

/// Compresses the bodies of another serializer with gzip. As ``HTTPSessionConfiguration/requestSerializer``, it does so for a
/// whole session.
public struct CompressedRequestSerializer: RequestSerializer {
  /// What is done about a request that has a `Content-Encoding` already, from ``base`` or from its caller.
  public enum DuplicateHeaderBehavior: Hashable, Sendable {
    /// The request fails with `cannotEncodeRequest`, and nothing is sent.
    case fail
    /// The body is compressed, and the field says so in the place of what it has said.
    case replace
    /// The request is sent as it is.
    case skip
  }

  /// The serializer that makes the requests.
  public var base: any RequestSerializer
  /// The length in bytes from which a body is compressed. Default: 1,024, because a shorter body most often fits into one packet
  /// as it is. A body whose length is not known is always compressed.
  public var minimumLength: Int64
  /// Decides which bodies are compressed, in the place of ``minimumLength``. Default: nil, the length decides.
  public var shouldCompress: (@Sendable (HTTPRequest, HTTPBody) -> Bool)?
  /// What is done about a request that has a `Content-Encoding` already. Default: it is sent as it is.
  public var duplicateHeaderBehavior = DuplicateHeaderBehavior.skip

  public init(base: any RequestSerializer = HTTPRequestSerializer(), minimumLength: Int64 = 1_024) {
    self.base = base
    self.minimumLength = minimumLength
  }

  /// A body that says itself how it is encoded stays as it is. See also ``duplicateHeaderBehavior``.
  public func serialize(
    _ request: HTTPRequest, url: URL?, parameters: StructuredValue?
  ) throws(HTTPError) -> (HTTPRequest, HTTPBody) {
    var (request, body) = try base.serialize(request, url: url, parameters: parameters)
    guard body.length != 0, body.contentEncoding == nil,
      shouldCompress?(request, body) ?? (body.length ?? .max >= minimumLength)
    else { return (request, body) }
    if let coding = request.headerFields[.contentEncoding] {
      switch duplicateHeaderBehavior {
      case .skip: return (request, body)
      case .replace: request.headerFields[.contentEncoding] = nil
      case .fail:
        throw HTTPError(
          .cannotEncodeRequest, "compress the body",
          message: "the request has the Content-Encoding '\(coding)'; remove it, or set duplicateHeaderBehavior")
      }
    }
    body = body.compressed()
    return (request, body)
  }
}
