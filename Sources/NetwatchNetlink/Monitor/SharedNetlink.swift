import NetlinkWire
import Netwatch
import NetwatchEventLoop

/// A thread with netlink, for one or several monitors.
final class SharedNetlink: Sendable {
  private let handle: LoopHandle
  private let source: LoopBound<NetlinkSource>

  private init(_ source: NetlinkSource) {
    handle = source.loop.handle
    self.source = LoopBound(source, on: source.loop)
  }

  static func start() throws -> SharedNetlink {
    try EventLoop.startInBackground(name: "netwatch") { loop in SharedNetlink(try NetlinkSource(on: loop)) }
  }

  /// Starts one more monitor, and waits for its first path.
  func monitor(_ configuration: MonitorConfiguration) throws -> NetworkMonitor {
    let (feed, watcher) = try handle.call { [source] loop, answer in
      guard let source = source.value(on: loop) else { return }
      do {
        try Self.watch(source, configuration, answer)
      } catch {
        if source.isIdle { loop.stop() }
        answer.fulfill(.failure(error))
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

  /// Samples the traffic of the link that carries the monitor's path into `continuation`.
  ///
  /// - Parameter monitor: The monitor whose path determines the link. It is kept alive as long as the sequence is held.
  func sampleTraffic(
    of monitor: NetworkMonitor, every interval: Duration, into continuation: AsyncStream<LinkTraffic>.Continuation
  ) {
    let reader = TrafficReader(handle, every: interval, into: continuation)
    let subscription = monitor.onChangeImmediately { [weak monitor] path in
      if monitor?.failure != nil { continuation.finish() } else { reader.follow(path) }
    }
    continuation.onTermination = { _ in
      subscription.cancel()
      reader.stop()
    }
  }

  private typealias Started = (MonitorFeed, LoopBound<NetlinkReachability>)

  private static func watch(
    _ source: NetlinkSource, _ configuration: MonitorConfiguration, _ answer: Promise<Result<Started, any Error>>
  ) throws {
    let publisher = FeedPublisher(configuration)
    var files: RuleFiles?
    if case .followed(let report) = configuration.machineRules { files = RuleFiles(for: .user, warn: report) }
    let reachability = try NetlinkReachability(
      on: source, configuration: configuration, rules: files?.rules ?? NetworkRules(),
      publish: { path, change, _ in publisher.publish(path, change) },
      fail: { [unowned source] error in
        publisher.feed?.fail(error.asMonitorError)
        if source.isIdle { source.loop.stop() }
      })
    publisher.statistics = { [unowned reachability] in reachability.statistics }
    publisher.isReady = { [unowned reachability, unowned source] feed in
      answer.fulfill(.success((feed, LoopBound(reachability, on: source.loop))))
    }
    try reachability.start()
    if let files { reachability.follow(files) }
  }
}

/// A reader of traffic. Can be used from any thread.
private final class TrafficReader: Sendable {
  private let handle: LoopHandle
  private let interval: Duration
  private let continuation: AsyncStream<LinkTraffic>.Continuation
  /// The sampler, which belongs to the loop. Nil before the first path and after the end.
  private let sampler = Lock<LoopBound<TrafficSampler>?>(nil)

  init(_ handle: LoopHandle, every interval: Duration, into continuation: AsyncStream<LinkTraffic>.Continuation) {
    self.handle = handle
    self.interval = interval
    self.continuation = continuation
  }

  func follow(_ path: NetworkPath) {
    let carrier = path.carrier
    let isSubmitted = handle.submit { [self] loop in
      guard let sampler = sampler(on: loop) else { return continuation.finish() }
      sampler.count([carrier].compactMap { $0 })
    }
    if !isSubmitted { continuation.finish() }
  }

  private func sampler(on loop: EventLoop) -> TrafficSampler? {
    if let sampler = sampler.withLock({ $0 })?.value(on: loop) { return sampler }
    let made = try? TrafficSampler(on: loop) { [continuation] _, figures, _ in
      if let traffic = figures.first { continuation.yield(traffic) }
    }
    made?.setIntervals([interval])
    sampler.withLock { $0 = made.map { LoopBound($0, on: loop) } }
    return made
  }

  func stop() {
    handle.submit { [self] loop in
      let sampler = sampler.withLock { $0.take() }
      sampler?.value(on: loop)?.stop()
    }
  }
}

/// Makes a feed from the first path, and publishes the following paths into it.
private final class FeedPublisher {
  private(set) var feed: MonitorFeed?
  /// The closure that is called once, with the new feed, and then released: it may hold an object that holds this one.
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
