/// A counter of running requests that tells when to show a person that the network is busy.
///
/// With the default delays it becomes visible one second after a request began if a request runs then. It is hidden 0.17 s
/// after the last request has ended; see ``ActivityState``. All methods can be called from any thread, but `onVisibilityChange`
/// without `enqueue` only on an actor. To begin and to end a request takes one lock and allocates nothing.
public final class ActivityIndicator: RequestObserver, Sendable {
  private let core: ActivityCore

  /// Creates an indicator that measures its delays on the monotonic clock.
  ///
  /// - Parameter configuration: The two delays. Default: those of ``ActivityConfiguration``.
  public convenience init(_ configuration: ActivityConfiguration = .init()) {
    self.init(configuration, clock: SuspendingClock())
  }

  /// Creates an indicator that measures its delays on a clock of your choice.
  ///
  /// - Parameters:
  ///   - configuration: The two delays.
  ///   - clock: The clock that measures the delays.
  public init<C: Clock>(_ configuration: ActivityConfiguration, clock: C) where C.Duration == Duration {
    core = ActivityCore(configuration, clock: clock)
  }

  deinit { core.visibility.end(.success(())) }

  // MARK: State

  /// Whether the indicator is visible now.
  public var isVisible: Bool { state.isVisible }
  /// The current state.
  public var state: ActivityState { core.inside.withLock { $0.machine.state } }
  /// The number of running requests that count as activity.
  public var count: Int { core.inside.withLock { $0.requests.count } }
  /// The labels of the running requests that were begun with one.
  public var labels: [String] { core.inside.withLock { $0.requests.labels } }

  /// Whether the indicator can be shown. Default: true.
  ///
  /// While this is false, nothing is shown. Requests are still counted, and the count is used when this becomes true again.
  public var isEnabled: Bool {
    get { core.inside.withLock { $0.machine.isEnabled } }
    set { core.change { [core] inside in core.run(newValue ? .enabled : .disabled, &inside) } }
  }

  /// The two delays. A change applies to delays that begin afterwards.
  public var configuration: ActivityConfiguration {
    get { core.inside.withLock { $0.machine.configuration } }
    set { core.inside.withLock { $0.machine.configuration = newValue } }
  }

  // MARK: Requests

  /// Begins a request, which runs until its token is ended or released.
  ///
  /// - Parameter label: The text for ``labels``. Default: nil, no label.
  /// - Returns: The token of the request.
  public func begin(_ label: String? = nil) -> RequestToken {
    let core = core
    return RequestToken(core, core.begin(label))
  }

  /// Notes that the request with this id runs. The call has no effect if that id already runs or if its end came first.
  ///
  /// - Parameters:
  ///   - id: The id of the request.
  ///   - isIndicated: Whether the request counts. False for a long poll or a socket.
  public func began(_ id: RequestID, isIndicated: Bool) {
    core.changeRequests { $0.began(id, isIndicated: isIndicated) }
  }

  /// Notes that the request with this id is over. The call may come before ``began(_:isIndicated:)``.
  public func ended(_ id: RequestID) { core.changeRequests { $0.ended(id) } }

  // MARK: Observers

  /// Calls `body` on the caller's actor whenever the indicator is to be shown or hidden.
  ///
  /// The subscription ends when you release it. It keeps `body` alive, and so everything that `body` captures. If `body` captures
  /// `self`, and `self` holds the subscription, neither is released. In an actor of your own write `[weak self]`, and use
  /// `self?.assumeIsolated { … }` for code that needs the actor. You can also end the subscription with ``Subscription/cancel()``.
  /// - Parameters:
  ///   - initial: Whether `body` also gets the current value, before this method returns. Default: true.
  ///   - isolation: The actor. Leave this out to use the caller's.
  ///   - body: The closure that gets whether the indicator is visible.
  /// - Returns: The subscription. `body` is called only while you hold it.
  public func onVisibilityChange(
    initial: Bool = true, isolation: isolated any Actor = #isolation, _ body: @escaping (Bool) -> Void
  ) -> Subscription {
    core.visibility.call(of: self, initial: initial, isolation: isolation, body)
  }

  /// Calls `body` at each change of the visibility in the context that `enqueue` chooses, such as
  /// `{ queue.async(execute: $0) }`.
  ///
  /// - Parameters:
  ///   - initial: Whether `body` also gets the current value. Default: true.
  ///   - enqueue: The closure that runs the work that it gets, at any time and on any thread.
  ///   - body: The closure that gets whether the indicator is visible.
  /// - Returns: The subscription. `body` is called only while you hold it.
  public func onVisibilityChange(
    initial: Bool = true, enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    _ body: @escaping @Sendable (Bool) -> Void
  ) -> Subscription {
    core.visibility.call(of: self, initial: initial, enqueue: enqueue, body)
  }

  /// Calls `body` at each change of the visibility, without a queue: on the thread that made the change, or, when a delay is
  /// over, on a thread of Swift's pool. That thread waits for `body`, so keep it short. If the visibility changes while `body`
  /// runs on another thread, that thread delivers the newest value afterwards.
  ///
  /// - Parameters:
  ///   - initial: Whether `body` also gets the current value, on the calling thread before this method returns. Default:
  ///     true.
  ///   - body: The closure that gets whether the indicator is visible.
  /// - Returns: The subscription. `body` is called only while you hold it.
  public func onVisibilityChangeImmediately(
    initial: Bool = true, _ body: @escaping @Sendable (Bool) -> Void
  ) -> Subscription {
    core.visibility.call(of: self, initial: initial, enqueue: { $0() }, body)
  }

  /// The current visibility and each new one, until the reader's task is cancelled.
  public var visibility: LatestValues<Bool, Never> { LatestValues(broadcast: core.visibility, owner: self) }

  /// Calls `body` whenever the number of requests becomes zero or more than zero. Nil ends that.
  package func onBusyChange(of observer: AnyObject, _ body: (@Sendable () -> Void)?) {
    let id = ObjectIdentifier(observer)
    core.inside.withLock { inside in
      var observers = inside.busyObservers ?? [:]
      observers[id] = body
      inside.busyObservers = observers.isEmpty ? nil : observers
    }
  }
}
