import HTTPTypes
import Netwatch
import NetwatchEventLoop

/// A response that a ``Downloader`` has kept.
public struct CachedReply<Value: Sendable>: Sendable {
  /// The response and its value. After a validation, it has the newest head.
  public let reply: HTTPReply<Value>
  let freshness: CacheFreshness
  /// The only owner that may get the response. Nil if all callers may.
  let owner: CacheOwner?
}

extension CachedReply {
  /// Creates a cached response from a value of your own, for any session and credential.
  ///
  /// - Parameters:
  ///   - value: The value that a downloader returns instead of asking the server.
  ///   - request: The request that the value answers.
  ///   - lifetime: The time for which the value is used before the server is asked. It also passes while the machine sleeps.
  ///     Default: a hundred years.
  public init(_ value: Value, to request: HTTPRequest, lifetime: Duration = .seconds(100 * 365 * 86_400)) {
    reply = HTTPReply(HTTPResponse(status: .ok), value, to: request, HTTPMetrics())
    freshness = CacheFreshness(lifetime: lifetime, from: KernelClock.boot.now)
    owner = nil
  }

  /// Returns a cached response with another value that was made from this one, such as an image in another size. It is as fresh
  /// as this one, and shared with the same sessions and credentials.
  public func with<Other: Sendable>(_ value: Other) -> CachedReply<Other> {
    CachedReply<Other>(reply: reply.with(value), freshness: freshness, owner: owner)
  }
}

extension CachedReply: CacheCost where Value: CacheCost {
  /// The cost of the value, in bytes.
  public var cacheCost: Int { reply.value.cacheCost }
}
