/// Whether a cache may answer a request, and when the server is asked.
///
/// A request whose own `Cache-Control` has `no-store`, `no-cache` or `max-age` is obeyed, whatever the policy is.
public enum HTTPCachePolicy: Hashable, Sendable {
  /// As HTTP says (RFC 9111): a fresh answer is used, and the server is asked whether a stale one may
  /// still be used.
  case standard
  /// The server is asked for the whole answer. URLSession calls this `reloadIgnoringLocalCacheData`.
  case ignoresCache
  /// An answer from the cache is used however old it is; only if there is none, the server is asked. URLSession calls this
  /// `returnCacheDataElseLoad`.
  case prefersCache
  /// An answer from the cache is used however old it is, and the server is never asked: if there is none, the answer is 504
  /// (Gateway Timeout). URLSession calls this `returnCacheDataDontLoad`.
  case requiresCache
  /// The server is always asked whether the answer in the cache may still be used. URLSession calls this
  /// `reloadRevalidatingCacheData`.
  case revalidates
}
