import HTTPTypes

/// Carries the requests of a session in the place of libcurl, so that you can test an app without a server.
///
/// All of the rest is as in the real session: serializers, interceptors, redirects, retries, progress, streams, downloads and
/// the activity indicator. There are no connections, so nothing is decompressed, and cookies are neither kept nor sent.
/// ``ScriptedTransport`` and ``RecordedTransport`` are ready-made ones.
public protocol HTTPTransport: Sendable {
  /// Answers one attempt of a task: its first request, one that a redirect leads to, or a retry.
  ///
  /// Called in a Swift task of its own, which is cancelled when nobody waits for the answer any more.
  ///
  /// - Parameters:
  ///   - request: The request, with all of its header fields.
  ///   - body: What is sent with it; nil for nothing. See ``HTTPBody/data()``.
  /// - Throws: What the attempt fails with.
  func send(_ request: HTTPRequest, body: HTTPBody?) async throws(HTTPError) -> HTTPTransportAnswer
}
