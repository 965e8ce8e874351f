import Netwatch
import NetwatchEventLoop

extension NetworkMonitor {
  /// Starts a monitor on the kernel's netlink, with a thread of its own. Needs no privilege.
  ///
  /// When it returns the path is known: ``NetworkMonitor/currentPath`` is the kernel's present answer. This takes about a
  /// millisecond, on the calling thread.
  /// - Throws: ``NetworkMonitorError`` where netlink is not permitted.
  public static func start(_ configuration: MonitorConfiguration = .init()) throws(NetworkMonitorError)
    -> NetworkMonitor
  {
    do {
      let (feed, handle) = try BackgroundLoop.start(name: "netwatch") { loop in
        (try follow(configuration, on: loop), loop.handle)
      }
      return NetworkMonitor(feed: feed) { handle.submit { $0.stop() } }
    } catch let error as NetlinkError {
      throw error.asMonitorError
    } catch let error as SystemError {
      throw NetworkMonitorError(operation: error.operation, code: error.code, description: error.description)
    } catch {
      throw NetworkMonitorError(operation: "start", code: 0, description: "\(error)")
    }
  }

  private static func follow(_ configuration: MonitorConfiguration, on loop: EventLoop) throws -> MonitorFeed {
    let publisher = FeedPublisher(configuration)
    let reachability = try NetlinkReachability(
      on: NetlinkSource(on: loop), configuration: configuration,
      handlers: .init(
        publish: { path, change, _ in publisher.publish(path, change) },
        fail: { [unowned loop] error in
          publisher.feed?.fail(error.asMonitorError)
          loop.stop()
        }))
    publisher.statistics = { [unowned reachability] in reachability.statistics }
    try reachability.start()
    guard let feed = publisher.feed else { throw NetlinkError(operation: "dump", code: 0) }
    return feed
  }
}

/// Makes a feed of the first path, and publishes the others into it.
private final class FeedPublisher {
  private(set) var feed: MonitorFeed?
  var statistics: () -> MonitorStatistics = { MonitorStatistics() }
  private let publishesInterfaceChanges: Bool

  init(_ configuration: MonitorConfiguration) {
    publishesInterfaceChanges = configuration.publishesInterfaceChanges
  }

  func publish(_ path: NetworkPath, _ change: ReachabilityMachine.Change) {
    let statistics = statistics()
    guard let feed else {
      feed = MonitorFeed(path, statistics)
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
