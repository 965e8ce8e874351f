/// Whether a session's cache may answer a request, and when the server is asked.
///
/// `no-store`, `no-cache`, `max-age` and `only-if-cached` in the request's own `Cache-Control` are obeyed under every policy.
/// `max-stale` and `min-fresh` count only under ``standard``.
public enum HTTPCachePolicy: Hashable, Sendable {
  /// The rules of HTTP (RFC 9111): a fresh response is used. For a stale response, the server is asked whether it may still be
  /// used.
  case standard
  /// The server is asked for the whole response. URLSession calls this `reloadIgnoringLocalCacheData`.
  case ignoresCache
  /// As ``ignoresCache``, and the caches on the way must ask the server as well: `Cache-Control: no-cache`, and `Pragma: no-cache` for
  /// those of HTTP/1.0, unless the request has a `Cache-Control` of its own. It also works in a session without a cache. URLSession calls
  /// this `reloadIgnoringLocalAndRemoteCacheData`.
  case ignoresAllCaches
  /// A response from the cache is used, however old it is. The server is asked only if there is none. URLSession calls this
  /// `returnCacheDataElseLoad`.
  case prefersCache
  /// A response from the cache is used, however old it is, and the server is never asked. If there is none, the status is 504
  /// (Gateway Timeout). URLSession calls this `returnCacheDataDontLoad`.
  case requiresCache
  /// The server is always asked whether the response in the cache may still be used. URLSession calls this
  /// `reloadRevalidatingCacheData`.
  case revalidates
}

extension HTTPCachePolicy {
  /// Whether a stored response is neither used nor validated.
  var ignoresStored: Bool { self == .ignoresCache || self == .ignoresAllCaches }
}
