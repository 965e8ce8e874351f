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
        if watcher.reachability.source.isIdle { loop.stop() }
      }
    }
  }

  /// Samples the traffic of the link that carries the monitor's path into `continuation`.
  ///
  /// - Parameter monitor: The monitor whose path determines the link. It is kept alive as long as the sequence is held.
  func sampleTraffic(
    of monitor: NetworkMonitor, every interval: Duration, into continuation: AsyncStream<LinkTraffic>.Continuation
  ) {
    let reader = TrafficReader(handle, every: interval, into: continuation) { [weak monitor] in
      monitor?.currentPath.carriers ?? []
    }
    let subscription = monitor.onChangeImmediately { [weak monitor] path in
      if monitor?.failure != nil { continuation.finish() } else { reader.follow(path.carriers) }
    }
    continuation.onTermination = { _ in
      subscription.cancel()
      reader.stop()
    }
  }

  /// The parts of one monitor on the loop.
  private struct Watcher {
    let reachability: NetlinkReachability
    let findings: PathFindings

    func stop() {
      reachability.stop()
      findings.stop()
    }
  }

  private typealias Started = (MonitorFeed, LoopBound<Watcher>)

  private static func watch(
    _ source: NetlinkSource, _ configuration: MonitorConfiguration, _ answer: Promise<Result<Started, any Error>>
  ) throws {
    var configuration = configuration
    // A program may ask for the traffic at any time.
    configuration.findsAllCarriers = true
    let feed = MonitorFeed(publishesInterfaceChanges: configuration.publishesInterfaceChanges)
    var files: RuleFiles?
    if case .followed(let report) = configuration.machineRules { files = RuleFiles(for: .user, warn: report) }
    weak var current: NetlinkReachability?
    weak var currentFindings: PathFindings?
    // Released with the first path: the answer holds what holds this.
    var waiting: Promise<Result<Started, any Error>>? = answer
    let findings = try PathFindings(
      configuration, on: source.loop, networkFacts: { (try? current?.networkFacts()) ?? nil },
      publish: { [unowned source] path, change in
        guard let current, let currentFindings else { return }
        feed.publish(path, change, current.statistics)
        let watcher = Watcher(reachability: current, findings: currentFindings)
        waiting.take()?.fulfill(.success((feed, LoopBound(watcher, on: source.loop))))
      })
    currentFindings = findings
    do {
      let reachability = try NetlinkReachability(
        on: source, configuration: configuration, rules: files?.rules ?? NetworkRules(),
        publish: { path, change, _ in findings.take(path, change) },
        fail: { [unowned source] error in
          findings.stop()
          feed.fail(error.asMonitorError)
          if source.isIdle { source.loop.stop() }
        })
      current = reachability
      try reachability.start()
      if let files { reachability.follow(files) }
    } catch {
      findings.stop()
      throw error
    }
  }
}

/// A reader of traffic. Can be used from any thread.
private final class TrafficReader: Sendable {
  private let handle: LoopHandle
  private let interval: Duration
  private let continuation: AsyncStream<LinkTraffic>.Continuation
  private let carriers: @Sendable () -> [TrafficSampler.Link]
  /// The sampler, which belongs to the loop. Nil before the first path and after the end.
  private let sampler = Lock<LoopBound<TrafficSampler>?>(nil)

  /// - Parameter carriers: The closure that returns the links that carry the path. They may also change without a new path, so they are
  ///   asked for after each sample.
  init(
    _ handle: LoopHandle, every interval: Duration, into continuation: AsyncStream<LinkTraffic>.Continuation,
    carriers: @escaping @Sendable () -> [TrafficSampler.Link]
  ) {
    self.handle = handle
    self.carriers = carriers
    self.interval = interval
    self.continuation = continuation
  }

  func follow(_ links: [TrafficSampler.Link]) {
    let isSubmitted = handle.submit { [self] loop in
      guard let sampler = sampler(on: loop) else { return continuation.finish() }
      sampler.count(links)
    }
    if !isSubmitted { continuation.finish() }
  }

  private func sampler(on loop: EventLoop) -> TrafficSampler? {
    if let sampler = sampler.withLock({ $0 })?.value(on: loop) { return sampler }
    let made = try? TrafficSampler(on: loop) { [continuation, unowned self] _, figures, _ in
      if let traffic = LinkTraffic(sumOf: figures) { continuation.yield(traffic) }
      follow(carriers())
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
