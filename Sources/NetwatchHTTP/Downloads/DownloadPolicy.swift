/// Whether a ``Downloader`` may answer with what it has kept. A request that says `no-cache` or `max-age` is obeyed, whatever
/// its policy.
public enum DownloadPolicy: Hashable, Sendable {
  /// As HTTP says: while it is fresh; then the server is asked whether it still may be used.
  case standard
  /// The server is asked for all of it.
  case ignoresCache
  /// However old it is.
  case prefersCache
}
