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
