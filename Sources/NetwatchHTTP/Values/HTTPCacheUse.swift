/// How a session's cache has answered a request. See ``HTTPSessionConfiguration/cache``.
public enum HTTPCacheUse: Hashable, Sendable {
  /// A stored answer was used, and the server was not asked.
  case hit
  /// The server has said that the stored answer may still be used (304, Not Modified).
  case validated
  /// A stored answer stands in for a server that has failed or could not be reached (`stale-if-error`, RFC 5861).
  case stale
  /// There was no answer to use, and the server was not to be asked: the status 504 is the cache's.
  case miss
}
