/// A response that a ``Downloader`` has kept.
public struct CachedReply<Value: Sendable>: Sendable {
  /// As it came, with the newest head.
  public let reply: HTTPReply<Value>
  let freshness: CacheFreshness
  /// Whose it is; nil if anybody may have it.
  let owner: CacheOwner?
}

extension CachedReply: CacheCost where Value: CacheCost {
  /// Its value's.
  public var cacheCost: Int { reply.value.cacheCost }
}
