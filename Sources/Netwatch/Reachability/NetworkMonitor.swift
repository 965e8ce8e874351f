/// Tells how reachable the machine is, now and whenever that changes.
///
/// `import NetwatchNetlink` has the `start` that makes one. The path is known from the first moment: there is no value
/// "unknown" to wait through, unless the target is a host for whose name nobody has answered within two seconds.
///
/// From any thread. It runs as long as somebody holds it, one of its subscriptions, or an iterator of its ``paths``;
/// then its thread and sockets are gone.
public final class NetworkMonitor: Sendable {
  private let feed: MonitorFeed
  private let stop: @Sendable () -> Void
  /// What another monitor can share with this one; its source knows what it is.
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

  /// The path as it is now.
  public var currentPath: NetworkPath { feed.broadcast.latest }

  /// What the monitor has been through.
  public var statistics: MonitorStatistics { feed.statistics.withLock { $0 } }

  /// Why it ended before its time; nil while it runs. From then on ``currentPath`` says `.unknown`.
  public var failure: NetworkMonitorError? { feed.broadcast.failure }

  /// Calls `body` on the caller's actor with each new path.
  ///
  /// `body` may touch the actor's own state. A path that could not be delivered before a newer one came is left out. If
  /// netlink is lost, the last path that is delivered has the status `.unknown`.
  ///
  /// The subscription does not keep the actor alive, and ends when the actor drops it. But it keeps `body`, and a body that
  /// uses `self` keeps the actor: in an actor of your own write `[weak self]`, and `self?.assumeIsolated { … }` for what
  /// needs the actor; or end the subscription with ``Subscription/cancel()``.
  /// - Parameters:
  ///   - initial: whether `body` gets the current path too, before this returns. Default true.
  ///   - isolation: the actor; leave it out for the caller's.
  ///   - body: gets the path.
  public func onChange(
    initial: Bool = true, isolation: isolated any Actor = #isolation, _ body: @escaping (NetworkPath) -> Void
  ) -> Subscription {
    feed.broadcast.call(of: self, initial: initial, isolation: isolation, body)
  }

  /// Calls `body` with each new path wherever `enqueue` runs what it is given, such as `{ queue.async(execute: $0) }`.
  ///
  /// At most one call waits in the queue at a time; it delivers what is newest when it runs.
  /// - Parameters:
  ///   - initial: whether `body` gets the current path too. Default true.
  ///   - enqueue: is given what is to be run.
  ///   - body: gets the path.
  public func onChange(
    initial: Bool = true, enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    _ body: @escaping @Sendable (NetworkPath) -> Void
  ) -> Subscription {
    feed.broadcast.call(of: self, initial: initial, enqueue: enqueue, body)
  }

  /// Calls `body` with each new path on the monitor's own thread, at once. The thread waits for it: be short.
  ///
  /// - Parameters:
  ///   - initial: whether `body` gets the current path too, on this thread before this returns. Default true.
  ///   - body: gets the path.
  public func onChangeImmediately(
    initial: Bool = true, _ body: @escaping @Sendable (NetworkPath) -> Void
  ) -> Subscription {
    feed.broadcast.call(of: self, initial: initial, enqueue: { $0() }, body)
  }

  /// The current path and each new one, newest first where the reader is slow.
  ///
  /// Each iterator reads for itself. It throws, once, if netlink is lost.
  public var paths: LatestValues<NetworkPath, NetworkMonitorError> {
    LatestValues(broadcast: feed.broadcast, owner: self)
  }
}
