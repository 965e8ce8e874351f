/// The progress of a batch of requests.
public struct HTTPBatchProgress: Hashable, Sendable {
  /// The number of requests that have ended, including those that failed.
  public internal(set) var finished = 0
  /// The number of requests that failed, including those that were cancelled.
  public internal(set) var failed = 0
  /// The number of requests in the batch.
  public let total: Int
  /// The index of the request that ended last.
  public internal(set) var last = 0
}
