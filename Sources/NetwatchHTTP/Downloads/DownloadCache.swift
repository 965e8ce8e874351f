/// A cache for what a ``Downloader`` has downloaded: an ``AutoPurgingCache``, or your own type.
///
/// The functions are called from any thread, and the download waits until they return. A cache may forget anything at any time,
/// and does not have to keep what is inserted.
public protocol DownloadCache<Kept>: Sendable {
  /// The type of the cached values: the ``CachedReply`` of a downloader's value.
  associatedtype Kept: Sendable

  /// Returns the value that is kept for a resource. Nil if there is none.
  func value(for resource: CachedResource) -> Kept?
  /// Keeps a value in place of the old value of the resource, or decides not to keep it.
  func insert(_ value: Kept, for resource: CachedResource)
  /// Removes the value that is kept for a resource.
  ///
  /// - Returns: Whether there was a value.
  @discardableResult
  func remove(_ resource: CachedResource) -> Bool
}

extension AutoPurgingCache: DownloadCache where Key == CachedResource, Value: CacheCost {
  /// The type of the cached values.
  public typealias Kept = Value
}
