import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// A response that a ``Downloader`` has kept.
public struct CachedReply<Value: Sendable>: Sendable {
  /// As it came, with the newest head.
  public let reply: HTTPReply<Value>
  let freshness: CacheFreshness
  /// Whose it is; nil if anybody may have it.
  let owner: CacheOwner?
}

extension CachedReply {
  /// A value of your own, for any session and credential.
  ///
  /// - Parameters:
  ///   - value: What a downloader is to bring in the place of the server.
  ///   - request: The request that it is the answer to.
  ///   - lifetime: How long it is used before the server is asked. The time goes on while the machine sleeps. Default: a hundred
  ///     years.
  public init(_ value: Value, to request: HTTPRequest, lifetime: Duration = .seconds(100 * 365 * 86_400)) {
    reply = HTTPReply(HTTPResponse(status: .ok), value, to: request, HTTPMetrics())
    freshness = CacheFreshness(lifetime: lifetime, from: KernelClock.boot.now)
    owner = nil
  }

  /// Another value that was made of this one, such as an image in another size: as fresh as this one, and for the same callers.
  public func with<Other: Sendable>(_ value: Other) -> CachedReply<Other> {
    CachedReply<Other>(reply: reply.with(value), freshness: freshness, owner: owner)
  }
}

extension CachedReply: CacheCost where Value: CacheCost {
  /// Its value's.
  public var cacheCost: Int { reply.value.cacheCost }
}
