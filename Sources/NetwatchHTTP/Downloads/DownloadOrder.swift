/// The order in which waiting requests begin.
public enum DownloadOrder: Hashable, Sendable {
  /// The request that has waited longest begins next.
  case firstInFirstOut
  /// The newest request begins next, because it is most likely for what is on the screen now.
  case lastInFirstOut
}
