import Netwatch

/// Makes a feed of the first path, and publishes the others into it.
final class FeedPublisher {
  private(set) var feed: MonitorFeed?
  /// Called once, with the feed when there is one, and then let go: what it answers to may hold what holds this.
  var isReady: ((MonitorFeed) -> Void)?
  var statistics: () -> MonitorStatistics = { MonitorStatistics() }
  private let publishesInterfaceChanges: Bool

  init(_ configuration: MonitorConfiguration) {
    publishesInterfaceChanges = configuration.publishesInterfaceChanges
  }

  func publish(_ path: NetworkPath, _ change: ReachabilityMachine.Change) {
    let statistics = statistics()
    guard let feed else {
      let feed = MonitorFeed(path, statistics)
      self.feed = feed
      let ready = isReady
      isReady = nil
      ready?(feed)
      return
    }
    feed.statistics.withLock { $0 = statistics }
    if change == .interfaces, !publishesInterfaceChanges {
      feed.broadcast.remember(path)
    } else {
      feed.broadcast.publish(path)
    }
  }
}
