/// How far a batch has come.
public struct HTTPBatchProgress: Hashable, Sendable {
  /// With those that have failed.
  public internal(set) var finished = 0
  /// With those that were cancelled.
  public internal(set) var failed = 0
  /// All requests of the batch.
  public let total: Int
  /// The one that has ended last.
  public internal(set) var last = 0
}
