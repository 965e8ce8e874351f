/// Counts requests that run, and tells when a person should see that the network is busy.
///
/// Shown after a second in which something ran and still runs, hidden 0.17 s after the last request has ended; see
/// ``ActivityState``. From any thread: to begin and to end takes one lock and allocates nothing.
public final class ActivityIndicator: RequestObserver, Sendable {
  private let core: ActivityCore

  /// On the monotonic clock.
  public convenience init(_ configuration: ActivityConfiguration = .init()) {
    self.init(configuration, clock: SuspendingClock())
  }

  /// - Parameters:
  ///   - configuration: the two delays.
  ///   - clock: what they are counted on.
  public init<C: Clock>(_ configuration: ActivityConfiguration, clock: C) where C.Duration == Duration {
    core = ActivityCore(configuration, clock: clock)
  }

  deinit { core.visibility.end(.success(())) }

  // MARK: State

  public var isVisible: Bool { state.isVisible }
  public var state: ActivityState { core.inside.withLock { $0.machine.state } }
  /// Requests that run.
  public var count: Int { core.inside.withLock { $0.requests.count } }
  /// The labels of those that were begun with one.
  public var labels: [String] { core.inside.withLock { $0.requests.labels } }

  /// While false, nothing is shown; requests are counted all the same, and looked at when it becomes true again.
  public var isEnabled: Bool {
    get { core.inside.withLock { $0.machine.isEnabled } }
    set { core.change { [core] inside in core.run(newValue ? .enabled : .disabled, &inside) } }
  }

  /// Changed delays count for those that begin from then on.
  public var configuration: ActivityConfiguration {
    get { core.inside.withLock { $0.machine.configuration } }
    set { core.inside.withLock { $0.machine.configuration = newValue } }
  }

  // MARK: Requests

  /// Begins a request, which runs until its token is ended or dropped.
  ///
  /// - Parameter label: for ``labels``.
  public func begin(_ label: String? = nil) -> RequestToken {
    let core = core
    return RequestToken(core, core.begin(label))
  }

  /// Beginning an id that runs changes nothing; nor does one whose end has come first.
  public func began(_ id: RequestID, isIndicated: Bool) {
    core.changeRequests { $0.began(id, isIndicated: isIndicated) }
  }

  public func ended(_ id: RequestID) { core.changeRequests { $0.ended(id) } }

  // MARK: Observers

  /// Calls `body` on the caller's actor whenever the indicator is to be shown or hidden.
  ///
  /// The subscription does not keep the actor alive, and ends when the actor drops it. But it keeps `body`, and a body that
  /// uses `self` keeps the actor: in an actor of your own write `[weak self]`, and `self?.assumeIsolated { … }` for what
  /// needs the actor; or end the subscription with ``Subscription/cancel()``.
  /// - Parameters:
  ///   - initial: whether `body` gets the present value too, before this returns. Default true.
  ///   - isolation: the actor; leave it out for the caller's.
  ///   - body: gets whether it is visible.
  public func onVisibilityChange(
    initial: Bool = true, isolation: isolated any Actor = #isolation, _ body: @escaping (Bool) -> Void
  ) -> Subscription {
    core.visibility.call(of: self, initial: initial, isolation: isolation, body)
  }

  /// Calls `body` wherever `enqueue` runs what it is given, such as `{ queue.async(execute: $0) }`.
  ///
  /// - Parameters:
  ///   - initial: whether `body` gets the present value too. Default true.
  ///   - enqueue: is given what is to be run.
  ///   - body: gets whether it is visible.
  public func onVisibilityChange(
    initial: Bool = true, enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    _ body: @escaping @Sendable (Bool) -> Void
  ) -> Subscription {
    core.visibility.call(of: self, initial: initial, enqueue: enqueue, body)
  }

  /// Calls `body` at once, on the thread of the timer or of the change that caused it, which waits for it: be short.
  ///
  /// - Parameters:
  ///   - initial: whether `body` gets the present value too, on this thread before this returns. Default true.
  ///   - body: gets whether it is visible.
  public func onVisibilityChangeImmediately(
    initial: Bool = true, _ body: @escaping @Sendable (Bool) -> Void
  ) -> Subscription {
    core.visibility.call(of: self, initial: initial, enqueue: { $0() }, body)
  }

  /// The present visibility, and each new one, until the reader's task is cancelled.
  public var visibility: LatestValues<Bool, Never> { LatestValues(broadcast: core.visibility, owner: self) }

  /// Calls `body` whenever the number of requests has become zero, or more than zero; nil ends that.
  package func onBusyChange(of observer: AnyObject, _ body: (@Sendable () -> Void)?) {
    let id = ObjectIdentifier(observer)
    core.inside.withLock { inside in
      var observers = inside.busyObservers ?? [:]
      observers[id] = body
      inside.busyObservers = observers.isEmpty ? nil : observers
    }
  }
}
