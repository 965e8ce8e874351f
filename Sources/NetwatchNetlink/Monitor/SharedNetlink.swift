import Netwatch
import NetwatchEventLoop

/// A thread with netlink on it, for one monitor or several.
final class SharedNetlink: Sendable {
  private let handle: LoopHandle
  private let source: LoopConfined<NetlinkSource>

  private init(_ source: NetlinkSource) {
    handle = source.loop.handle
    self.source = LoopConfined(source, on: source.loop)
  }

  static func start() throws -> SharedNetlink {
    try BackgroundLoop.start(name: "netwatch") { loop in SharedNetlink(try NetlinkSource(on: loop)) }
  }

  /// Starts one more monitor, and waits for its first path.
  func monitor(_ configuration: MonitorConfiguration) throws -> NetworkMonitor {
    let (feed, watcher) = try handle.call { [source] loop, answer in
      guard let source = source.value(on: loop) else { return }
      do {
        try Self.watch(source, configuration, answer)
      } catch {
        if source.isIdle { loop.stop() }
        answer.give(.failure(error))
      }
    }
    return NetworkMonitor(feed: feed, origin: self) { [handle] in
      handle.submit { loop in
        guard let watcher = watcher.value(on: loop) else { return }
        watcher.stop()
        if watcher.source.isIdle { loop.stop() }
      }
    }
  }

  private typealias Started = (MonitorFeed, LoopConfined<NetlinkReachability>)

  private static func watch(
    _ source: NetlinkSource, _ configuration: MonitorConfiguration, _ answer: LoopReply<Started>
  ) throws {
    let publisher = FeedPublisher(configuration)
    let reachability = try NetlinkReachability(
      on: source, configuration: configuration,
      publish: { path, change, _ in publisher.publish(path, change) },
      fail: { [unowned source] error in
        publisher.feed?.fail(error.asMonitorError)
        if source.isIdle { source.loop.stop() }
      })
    publisher.statistics = { [unowned reachability] in reachability.statistics }
    publisher.isReady = { [unowned reachability, unowned source] feed in
      answer.give(.success((feed, LoopConfined(reachability, on: source.loop))))
    }
    do {
      try reachability.start()
    } catch {
      reachability.stop()
      throw error
    }
  }
}

/// Makes a feed of the first path, and publishes the others into it.
private final class FeedPublisher {
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
