import HTTPTypes

/// What makes two downloads the same: method, URL, header fields, policy, and what the request wants of caches.
struct DownloadKey: Hashable, Sendable {
  let resource: CachedResource
  let policy: HTTPCachePolicy
  private let control: CacheControl
  /// The first one that was asked for.
  let request: HTTPRequest

  init(_ request: HTTPRequest, _ policy: HTTPCachePolicy) {
    resource = CachedResource(request)
    self.policy = policy
    control = CacheControl(of: request)
    self.request = request
  }

  static func == (left: DownloadKey, right: DownloadKey) -> Bool {
    left.policy == right.policy && left.resource == right.resource && left.control == right.control
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(resource)
    hasher.combine(policy)
  }
}
