/// A monitor of how this machine is reachable, now and at each change.
///
/// `import NetwatchNetlink` provides the `start` that makes one. The path is known as soon as `start` returns. It is
/// "unknown" only if the target is a host and no resolver answers for its name within two seconds. Later it is also "unknown"
/// after netlink was lost, and while the kernel refuses to list the links or to look up a route, which the monitor retries.
///
/// All methods can be called from any thread, but `onChange` without `enqueue` only on an actor. The monitor runs while you
/// hold it, one of its subscriptions, or one of its sequences, such as ``paths``. After that its thread and sockets are
/// released.
public final class NetworkMonitor: Sendable {
  private let feed: MonitorFeed
  private let stop: @Sendable () -> Void
  /// The part that another monitor can share with this one. Only the source knows its type.
  package let origin: (any Sendable)?

  package init(feed: MonitorFeed, origin: (any Sendable)? = nil, stop: @escaping @Sendable () -> Void) {
    self.feed = feed
    self.origin = origin
    self.stop = stop
  }

  deinit {
    stop()
    feed.broadcast.end(.success(()))
  }

  /// The current path. Can be read from any thread.
  public var currentPath: NetworkPath { feed.broadcast.latest }

  /// The counters of what the monitor has processed. Can be read from any thread.
  public var statistics: MonitorStatistics { feed.statistics.withLock { $0 } }

  /// The error that ended the monitor. Nil while it runs. After an error, ``currentPath`` has the status
  /// ``ReachabilityStatus/unknown``. That status alone does not mean that the monitor has ended.
  public var failure: NetworkMonitorError? { feed.broadcast.failure }

  /// Calls `body` on the caller's actor with each new path.
  ///
  /// `body` can use the actor's own state. If a newer path arrives before an older one is delivered, the older one is left
  /// out. If netlink is lost, the last path that is delivered has the status ``ReachabilityStatus/unknown``.
  ///
  /// The subscription ends when you release it. It keeps `body` alive, and so everything that `body` captures. If `body` captures
  /// `self`, and `self` holds the subscription, neither is released. In an actor of your own write `[weak self]`, and use
  /// `self?.assumeIsolated { … }` for code that needs the actor. You can also end the subscription with ``CallbackSubscription/cancel()``.
  /// - Parameters:
  ///   - initial: Whether `body` also gets the current path, before this method returns. Default: true.
  ///   - isolation: The actor. Leave this out to use the caller's.
  ///   - body: The closure that gets each path.
  /// - Returns: The subscription. `body` is called only while you hold it.
  public func onChange(
    initial: Bool = true, isolation: isolated any Actor = #isolation, _ body: @escaping (NetworkPath) -> Void
  ) -> CallbackSubscription {
    feed.broadcast.call(of: self, initial: initial, isolation: isolation, body)
  }

  /// Calls `body` with each new path on an actor, from a function that is on no actor or on another one.
  ///
  /// ```swift
  /// let changes = monitor.onChange(on: MainActor.shared) { path in print(path) }
  /// ```
  ///
  /// Without `on:`, such a function does not compile: the compiler says that 'nil' is not compatible with 'any Actor'. In `body`, use
  /// `assumeIsolated` of the actor for its own state. At most one call waits at a time; it delivers the path that is newest when
  /// it runs. The actor is not kept alive.
  ///
  /// - Parameters:
  ///   - initial: Whether `body` also gets the current path. Default: true.
  ///   - actor: The actor, such as `MainActor.shared`.
  ///   - body: The closure that gets each path.
  /// - Returns: The subscription. `body` is called only while you hold it.
  public func onChange(
    initial: Bool = true, on actor: any Actor, _ body: @escaping @Sendable (NetworkPath) -> Void
  ) -> CallbackSubscription {
    feed.broadcast.call(of: self, initial: initial, on: actor, body)
  }

  /// Calls `body` with each new path in the context that `enqueue` chooses, such as `{ queue.async(execute: $0) }`.
  ///
  /// At most one call waits in the queue at a time. It delivers the path that is newest when it runs.
  /// - Parameters:
  ///   - initial: Whether `body` also gets the current path. Default: true.
  ///   - enqueue: The closure that runs the work that it gets, at any time and on any thread.
  ///   - body: The closure that gets each path.
  /// - Returns: The subscription. `body` is called only while you hold it.
  public func onChange(
    initial: Bool = true, enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    _ body: @escaping @Sendable (NetworkPath) -> Void
  ) -> CallbackSubscription {
    feed.broadcast.call(of: self, initial: initial, enqueue: enqueue, body)
  }

  /// Calls `body` with each new path at once, on the monitor's own thread. That thread waits for `body`, so keep it short.
  ///
  /// There is one exception: paths that come during the first call, which `initial` asks for. The calling thread delivers the
  /// newest of them after that call.
  ///
  /// - Parameters:
  ///   - initial: Whether `body` also gets the current path, on the calling thread before this method returns. Default: true.
  ///   - body: The closure that gets each path.
  /// - Returns: The subscription. `body` is called only while you hold it.
  public func onChangeImmediately(
    initial: Bool = true, _ body: @escaping @Sendable (NetworkPath) -> Void
  ) -> CallbackSubscription {
    feed.broadcast.call(of: self, initial: initial, enqueue: { $0() }, body)
  }

  /// The current path and each new one. A slow reader gets only the newest.
  ///
  /// Each iterator reads independently of the others. The sequence throws once if netlink is lost.
  public var paths: some AsyncSequence<NetworkPath, NetworkMonitorError> & Sendable {
    LatestValues(broadcast: feed.broadcast, owner: self)
  }
}

/// The values that a source of paths writes and a ``NetworkMonitor`` reads. The source does not hold the monitor.
package final class MonitorFeed: Sendable {
  package let broadcast: Broadcast<NetworkPath, NetworkMonitorError>
  package let statistics: Lock<MonitorStatistics>
  private let publishesInterfaceChanges: Bool

  /// Creates a feed. Its path is unknown until the first one is published.
  package init(
    _ path: NetworkPath = NetworkPath(verdict: .unknown, reason: .unresolved, interfaces: []),
    publishesInterfaceChanges: Bool = false
  ) {
    broadcast = Broadcast(path)
    statistics = Lock(MonitorStatistics())
    self.publishesInterfaceChanges = publishesInterfaceChanges
  }

  /// Publishes a path. One in which only links have changed is just remembered, unless such changes are wanted.
  package func publish(
    _ path: NetworkPath, _ change: ReachabilityMachine.Change, _ statistics: MonitorStatistics
  ) {
    self.statistics.withLock { $0 = statistics }
    let isNews = change == .interfaces ? publishesInterfaceChanges : change != .carriers
    if isNews { broadcast.publish(path) } else { broadcast.remember(path) }
  }

  /// Ends the monitor: publishes a last path with the status `unknown`, then the error.
  package func fail(_ error: NetworkMonitorError) {
    broadcast.publish(NetworkPath(verdict: .unknown, reason: .unresolved, interfaces: []))
    broadcast.end(.failure(error))
  }
}
