/// How the cache of a session has answered a request. See ``HTTPSessionConfiguration/cache``.
public enum HTTPCacheUse: Hashable, Sendable {
  /// A stored response was used, and the server was not asked.
  case hit
  /// A stored response was used after the server confirmed that it is still valid (304, Not Modified).
  case validated
  /// A stored response was used because the server failed or could not be reached (`stale-if-error`, RFC 5861).
  case stale
  /// There was no response to use, and the request did not permit asking the server. The cache has returned the status 504.
  case miss
}
