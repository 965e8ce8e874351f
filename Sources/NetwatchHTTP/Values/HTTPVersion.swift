/// The version of HTTP that a session uses. The server may answer with an older one.
public enum HTTPVersion: Hashable, Sendable {
  /// HTTP/1.1 for every request.
  case http1_1
  /// HTTP/2 is offered to https servers in the TLS handshake. A server without HTTP/2 gets HTTP/1.1. Requests without TLS use
  /// HTTP/1.1.
  case http2
  /// Requests without TLS use HTTP/2 without negotiation (RFC 9113, section 3.3), except through an HTTP proxy. A server without
  /// TLS that only supports HTTP/1.1 cannot be reached. Before libcurl 8.0.0, each request without TLS opens a new connection.
  ///
  /// For https, and through an HTTP proxy, this is the same as ``http2``.
  case http2PriorKnowledge
}
