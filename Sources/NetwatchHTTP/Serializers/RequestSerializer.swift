import FoundationEssentials
import HTTPTypes

/// Puts parameters into a request.
public protocol RequestSerializer: Sendable {
  /// Called on the caller's thread, before a task begins.
  ///
  /// - Parameters:
  ///   - request: What is known of it already: its method and its own header fields, which win.
  ///   - url: Where it goes; nil where the request says so itself.
  ///   - parameters: Nil for none.
  /// - Returns: the whole request, and its body; for none, ``HTTPBody/empty``.
  /// - Throws: where they cannot be encoded. Then nothing is sent.
  func serialize(
    _ request: HTTPRequest, url: URL?, parameters: StructuredValue?
  ) throws(HTTPError) -> (HTTPRequest, HTTPBody)
}
