import FoundationEssentials
import HTTPTypes

/// A serializer that puts parameters into a request.
public protocol RequestSerializer: Sendable {
  /// Returns the request with its parameters. Called on the caller's thread, before a task begins.
  ///
  /// - Parameters:
  ///   - request: The request, with its method and its own header fields, which take precedence.
  ///   - url: The URL of the request. Nil if the request has one already.
  ///   - parameters: The parameters. Nil for none.
  /// - Returns: The complete request and its body. The body is ``HTTPBody/empty`` if there is none.
  /// - Throws: An error if the parameters cannot be encoded. Then nothing is sent.
  func serialize(
    _ request: HTTPRequest, url: URL?, parameters: StructuredValue?
  ) throws(HTTPError) -> (HTTPRequest, HTTPBody)
}
