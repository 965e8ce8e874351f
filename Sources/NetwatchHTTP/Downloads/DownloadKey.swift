import HTTPTypes

/// The identity of a download. Downloads are equal if their method, URL, header fields, policy and cache control are equal.
struct DownloadKey: Hashable, Sendable {
  let resource: CachedResource
  let policy: HTTPCachePolicy
  private let control: CacheControl
  /// The request that came first.
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
