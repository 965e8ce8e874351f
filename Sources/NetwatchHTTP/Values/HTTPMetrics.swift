/// Times and amounts of one attempt of a task. Each duration counts from the beginning of the attempt. It is nil if the attempt
/// did not reach that step.
public struct HTTPMetrics: Sendable {
  /// The time until the name of the host was resolved. Nil if the attempt did not reach that step.
  public var nameLookup: Duration?
  /// The time until the connection was made. Nil if the attempt used an existing connection, or made none.
  public var connect: Duration?
  /// The time until the TLS handshake was complete. Nil for http.
  public var secureConnect: Duration?
  /// The time until the first byte of the response arrived. Nil if none arrived.
  public var firstByte: Duration?
  /// The time until the end of the attempt.
  public var total: Duration = .zero
  /// The number of attempts that redirects, challenges and retries added to the first one. Default: 0.
  public var furtherAttempts = 0
  /// Whether the attempt used a connection of an earlier one. False if it used none, because the cache or a transport answered.
  public var reusedConnection = false
  /// The version of HTTP: `2` for HTTP/2, `1.1` or `1.0`. Empty if it is not known.
  public var protocolVersion = ""
  /// The bytes of the request body as sent over the network: with content encoding, without header fields.
  public var bytesSent: Int64 = 0
  /// The bytes of the response body as sent over the network: with content encoding, without header fields.
  public var bytesReceived: Int64 = 0
  /// How the session's cache has answered. Nil if the response is the server's.
  public var cacheUse: HTTPCacheUse?
}
