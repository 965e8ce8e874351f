/// The version of HTTP that a session asks for. The server may answer with an older one.
public enum HTTPVersion: Hashable, Sendable {
  /// HTTP/1.1 for every request.
  case http1_1
  /// HTTP/2 is offered to https servers within the TLS handshake; a server that does not speak it gets HTTP/1.1. Requests
  /// without TLS are made by HTTP/1.1.
  case http2
  /// HTTP/2 for every request, also without TLS and without asking first (RFC 9113, section 3.3). A server without TLS that
  /// speaks HTTP/1.1 alone cannot be reached. With https, or by a proxy that speaks HTTP, the same as ``http2``.
  ///
  /// Before libcurl 8.0.0, each request without TLS makes a connection of its own.
  case http2PriorKnowledge
}
