/// What was removed from a cache lately, so that no answer comes back that was on its way then. Pure.
struct CacheRemovals {
  /// The most URLs that are remembered. Beyond it, a removal counts for all of them.
  private static let most = 1_000

  /// The number of removals so far.
  private(set) var count: UInt64 = 0
  /// The removal up to which all URLs count as removed.
  private var last: UInt64 = 0
  private var urls: [String: UInt64] = [:]

  mutating func removeAll() {
    count &+= 1
    last = count
    urls = [:]
  }

  mutating func remove(_ removed: [String]) {
    guard urls.count + removed.count <= Self.most else { return removeAll() }
    count &+= 1
    for url in removed { urls[url] = count }
  }

  /// Returns whether a URL was removed after the removal with a number.
  func hasRemoved(_ url: String, since number: UInt64) -> Bool { max(last, urls[url] ?? 0) > number }
}
