/// What an attempt of a task took. Each duration counts from the attempt's beginning; nil where the step was not reached.
public struct HTTPMetrics: Sendable {
  public var nameLookup: Duration?
  /// Nil also where a connection was used again.
  public var connect: Duration?
  /// Until TLS was up; nil for http.
  public var secureConnect: Duration?
  public var firstByte: Duration?
  public var total: Duration = .zero
  /// The attempts that redirects, challenges and retries added to the first.
  public var furtherAttempts = 0
  public var reusedConnection = false
  /// `2` for HTTP/2, `1.1`.
  public var protocolVersion = ""
  /// As sent over the network: with content encodings, without heads.
  public var bytesSent: Int64 = 0
  public var bytesReceived: Int64 = 0
  /// What the session's cache has done. Nil if the answer is the server's.
  public var cacheUse: HTTPCacheUse?
}
