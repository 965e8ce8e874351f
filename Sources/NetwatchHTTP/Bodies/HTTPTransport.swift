import HTTPTypes

/// A transport that carries the requests of a session instead of libcurl, so that you can test an app without a server.
///
/// Everything else works as in a real session: serializers, interceptors, redirects, retries, progress, streams, downloads and the
/// activity indicator. There are no connections, so nothing is decompressed, cookies are neither kept nor sent, and the
/// ``HTTPTaskOptions/credential`` and the fields that libcurl adds are left out.
/// ``ScriptedTransport`` and ``RecordedTransport`` are ready-made transports.
public protocol HTTPTransport: Sendable {
  /// Answers one attempt of a task: the first request, the request after a redirect, or a retry.
  ///
  /// Called in a separate Swift task, which is cancelled when the answer is no longer needed.
  ///
  /// - Parameters:
  ///   - request: The request, without what libcurl adds: the user agent, the accepted encodings, the credential, and the type and
  ///     encoding of the body (``HTTPBody/contentType``, ``HTTPBody/contentEncoding``).
  ///   - body: The body of the request. Nil for none. See ``HTTPBody/data()``.
  /// - Returns: The head and the body of the response.
  /// - Throws: The error that the attempt fails with.
  func send(_ request: HTTPRequest, body: HTTPBody?) async throws(HTTPError) -> HTTPTransportAnswer
}
