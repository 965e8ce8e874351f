/// Keeps what a ``Downloader`` has downloaded: an ``AutoPurgingCache``, or a type of yours.
///
/// Its functions are called from any thread, and while one runs, its download waits. A cache may forget anything at any time, and
/// need not keep what is inserted: that decision is yours.
public protocol DownloadCache<Kept>: Sendable {
  /// What is kept: the ``CachedReply`` of a downloader's value.
  associatedtype Kept: Sendable

  /// What is kept under a resource. Nil if there is nothing.
  func value(for resource: CachedResource) -> Kept?
  /// Keeps something in the place of what is kept under the resource, or decides not to.
  func insert(_ value: Kept, for resource: CachedResource)
  /// Forgets what is kept under a resource.
  ///
  /// - Returns: Whether there was anything.
  @discardableResult
  func remove(_ resource: CachedResource) -> Bool
}

extension AutoPurgingCache: DownloadCache where Key == CachedResource, Value: CacheCost {
  /// The values of the cache.
  public typealias Kept = Value
}
