import FoundationEssentials
import HTTPTypes

/// A serializer that compresses the bodies of another serializer with gzip. Set it as
/// ``HTTPSessionConfiguration/requestSerializer`` to compress for a whole session.
public struct CompressedRequestSerializer: RequestSerializer {
  /// The handling of a request that already has a `Content-Encoding`, from ``base`` or from its caller.
  public enum DuplicateHeaderBehavior: Hashable, Sendable {
    /// The request fails with `cannotEncodeRequest`, and nothing is sent.
    case fail
    /// The body is compressed, and the field is replaced.
    case replace
    /// The request is sent unchanged.
    case skip
  }

  /// The serializer that makes the requests.
  public var base: any RequestSerializer
  /// The length in bytes from which a body is compressed. Default: 1,024, because a shorter body usually fits into one packet
  /// uncompressed. A body of unknown length is always compressed.
  public var minimumLength: Int64
  /// A closure that decides which bodies are compressed, instead of ``minimumLength``. Default: nil, the length decides.
  public var shouldCompress: (@Sendable (HTTPRequest, HTTPBody) -> Bool)?
  /// The handling of a request that already has a `Content-Encoding`. Default: it is sent unchanged.
  public var duplicateHeaderBehavior = DuplicateHeaderBehavior.skip

  /// Creates a serializer that compresses the bodies of another one.
  ///
  /// - Parameters:
  ///   - base: The serializer that makes the requests. Default: a new ``HTTPRequestSerializer``.
  ///   - minimumLength: The length in bytes from which a body is compressed. Default: 1,024.
  public init(base: any RequestSerializer = HTTPRequestSerializer(), minimumLength: Int64 = 1_024) {
    self.base = base
    self.minimumLength = minimumLength
  }

  /// Returns the request and the body of ``base``, compressed if it qualifies. A body that has a content encoding is not
  /// changed. See also ``duplicateHeaderBehavior``.
  ///
  /// - Parameters:
  ///   - request: The request, with its method and its own header fields.
  ///   - url: The URL of the request. Nil if the request has one already.
  ///   - parameters: The parameters. Nil for none.
  /// - Throws: `cannotEncodeRequest` if the request has a `Content-Encoding` and the behavior is `fail`, and the errors of
  ///   ``base``.
  public func serialize(
    _ request: HTTPRequest, url: URL?, parameters: StructuredValue?
  ) throws(HTTPError) -> (HTTPRequest, HTTPBody) {
    var (request, body) = try base.serialize(request, url: url, parameters: parameters)
    guard !body.isEmpty, body.contentEncoding == nil,
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
