import Synchronization

/// A counter of running requests that tells when to show a person that the network is busy.
///
/// With the default delays it becomes visible one second after a request began if a request runs then. It is hidden 0.17 s
/// after the last request has ended; see ``ActivityState``. All methods can be called from any thread, but `onVisibilityChange`
/// without `enqueue` only on an actor. To begin and to end a request takes one lock and allocates nothing.
public final class ActivityIndicator: RequestObserver, Sendable {
  /// What an indicator shows and counts at a moment.
  public struct Activity: Hashable, Sendable, CustomStringConvertible {
    /// The state of the indicator; `state.isVisible` tells whether it is shown.
    public var state: ActivityState
    /// The number of running requests that count as activity.
    public var count: Int
    /// The number of running requests with each label.
    public var labels: [String: Int]

    package init(state: ActivityState, count: Int, labels: [String: Int]) {
      (self.state, self.count, self.labels) = (state, count, labels)
    }

    /// The state and the requests, such as `active, 3 in flight (download 2, upload 1)`.
    public var description: String {
      let names = labels.sorted { $0.key < $1.key }.map { "\($0.key.sanitizedForTerminal) \($0.value)" }
      return "\(state), \(count) in flight" + (names.isEmpty ? "" : " (\(names.joined(separator: ", ")))")
    }
  }

  private struct Inside: Sendable {
    var requests = RequestSet()
    var machine: ActivityMachine
    var activity: Activity {
      let labels = requests.labels.reduce(into: [:]) { $0[$1, default: 0] += 1 }
      return Activity(state: machine.state, count: requests.count, labels: labels)
    }
    /// The time at which the earliest waiting task looks at the machine. Tasks are not cancelled, because begins and ends
    /// move the deadline too often.
    var wakesAt: Duration?
    var requestObservers: [ObjectIdentifier: @Sendable () -> Void] = [:]
    /// Whether the observers know that there is a change since the last ``takeRequests()``.
    var isAnnounced = false
  }

  /// The work that is left when the lock is released.
  private struct Work: Sendable {
    var wakeAt: Duration?
    var offer: Broadcast<Bool, Never>.Offer?
    var observers: [ObjectIdentifier: @Sendable () -> Void] = [:]
  }

  private let core: Core

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
    let origin = clock.now
    core = Core(
      inside: Lock(Inside(machine: ActivityMachine(configuration))), now: { origin.duration(to: clock.now) },
      sleep: { deadline in try? await clock.sleep(until: origin.advanced(by: deadline), tolerance: .zero) })
  }

  deinit { core.broadcast.end(.success(())) }

  // MARK: State

  /// Whether the indicator is visible now.
  public var isVisible: Bool { state.isVisible }
  /// The current state.
  public var state: ActivityState { core.inside.withLock { $0.machine.state } }
  /// The state, and the running requests by their labels, all of the same moment.
  public var activity: Activity { core.inside.withLock { $0.activity } }
  /// The number of running requests that count as activity.
  public var count: Int { core.inside.withLock { $0.requests.count } }
  /// The labels of the running requests that were begun with one.
  public var labels: [String] { core.inside.withLock { $0.requests.labels } }

  /// Whether the indicator can be shown. Default: true.
  ///
  /// While this is false, nothing is shown. Requests are still counted, and the count is used when this becomes true again.
  public var isEnabled: Bool {
    get { core.inside.withLock { $0.machine.isEnabled } }
    set { core.change { inside in core.run(newValue ? .enabled : .disabled, &inside) } }
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
    let (ticket, work) = core.inside.withLock { inside in
      let ticket = inside.requests.begin(label)
      return (ticket, core.requestsChanged(from: inside.requests.count - 1, &inside))
    }
    if let work { core.finish(work) }
    return RequestToken(self, ticket)
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

  /// Ends the request of a token. If it has ended already, nothing happens.
  func end(_ ticket: RequestSet.Ticket) { core.changeRequests { $0.end(ticket) } }

  // MARK: Observers

  /// Calls `body` on the caller's actor whenever the indicator is to be shown or hidden.
  ///
  /// The subscription ends when you release it. It keeps `body` alive, and so everything that `body` captures. If `body` captures
  /// `self`, and `self` holds the subscription, neither is released. In an actor of your own write `[weak self]`, and use
  /// `self?.assumeIsolated { … }` for code that needs the actor. You can also end the subscription with ``CallbackSubscription/cancel()``.
  /// - Parameters:
  ///   - initial: Whether `body` also gets the current value, before this method returns. Default: true.
  ///   - isolation: The actor. Leave this out to use the caller's.
  ///   - body: The closure that gets whether the indicator is visible.
  /// - Returns: The subscription. `body` is called only while you hold it.
  public func onVisibilityChange(
    initial: Bool = true, isolation: isolated any Actor = #isolation, _ body: @escaping (Bool) -> Void
  ) -> CallbackSubscription {
    core.broadcast.call(of: self, initial: initial, isolation: isolation, body)
  }

  /// Calls `body` on an actor whenever the indicator is to be shown or hidden, from a function that is on no actor or on another
  /// one. Without `on:`, such a function does not compile: the compiler says that 'nil' is not compatible with 'any Actor'.
  ///
  /// - Parameters:
  ///   - initial: Whether `body` also gets the current value. Default: true.
  ///   - actor: The actor, such as `MainActor.shared`. It is not kept alive.
  ///   - body: The closure that gets whether the indicator is visible. For the actor's own state it uses the actor's
  ///     `assumeIsolated`.
  /// - Returns: The subscription. `body` is called only while you hold it.
  public func onVisibilityChange(
    initial: Bool = true, on actor: any Actor, _ body: @escaping @Sendable (Bool) -> Void
  ) -> CallbackSubscription {
    core.broadcast.call(of: self, initial: initial, on: actor, body)
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
  ) -> CallbackSubscription {
    core.broadcast.call(of: self, initial: initial, enqueue: enqueue, body)
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
  ) -> CallbackSubscription {
    core.broadcast.call(of: self, initial: initial, enqueue: { $0() }, body)
  }

  /// The current visibility and each new one, until the reader's task is cancelled.
  public var visibility: some AsyncSequence<Bool, Never> & Sendable {
    LatestValues(broadcast: core.broadcast, owner: self)
  }

  /// The current state and requests, and each change of them, until the reader's task is cancelled. A slow reader gets only the newest.
  ///
  /// While somebody holds the sequence, to begin and to end a request costs a few allocations more.
  public var activities: some AsyncSequence<Activity, Never> & Sendable {
    let feed = ActivityFeed(self)
    return LatestValues(broadcast: feed.broadcast, owner: feed)
  }

  /// Calls `body` when there is a change of the requests that ``takeRequests()`` has not returned, and whenever their number
  /// becomes zero or more than zero. Nil ends that.
  package func onRequestChange(of observer: AnyObject, _ body: (@Sendable () -> Void)?) {
    core.inside.withLock { $0.requestObservers[ObjectIdentifier(observer)] = body }
  }

  /// Returns the number of running requests and the labels of those that have one. The next change is announced again.
  package func takeRequests() -> (count: Int, labels: [String]) {
    core.inside.withLock { inside in
      inside.isAnnounced = false
      return (inside.requests.count, inside.requests.labels)
    }
  }

  /// As ``takeRequests()``, with the state.
  fileprivate func takeActivity() -> Activity {
    core.inside.withLock { inside in
      inside.isAnnounced = false
      return inside.activity
    }
  }

  // MARK: Changes

  /// What a task that waits for the end of a delay needs. It does not keep the indicator alive.
  private struct Core: Sendable {
    let inside: Lock<Inside>
    let broadcast = Broadcast<Bool, Never>(false)
    let now: @Sendable () -> Duration
    let sleep: @Sendable (Duration) async -> Void

    func changeRequests(_ body: (inout RequestSet) -> Void) {
      change { inside in
        let count = inside.requests.count
        body(&inside.requests)
        return requestsChanged(from: count, &inside)
      }
    }

    func change(_ body: (inout Inside) -> Work?) {
      if let work = inside.withLock(body) { finish(work) }
    }

    /// Handles a change of the number of requests, under the lock.
    func requestsChanged(from former: Int, _ inside: inout Inside) -> Work? {
      let count = inside.requests.count
      guard count != former else { return nil }
      let isTurn = count == 0 || former == 0
      var work = isTurn ? run(count > 0 ? .busy : .idle, &inside) : nil
      if !inside.requestObservers.isEmpty, isTurn || !inside.isAnnounced {
        inside.isAnnounced = true
        work = work ?? Work()
        work?.observers = inside.requestObservers
      }
      return work
    }

    /// Handles an event, under the lock: values are published in the order of the machine's changes.
    ///
    /// - Returns: The work that is left. Nil if there is none, as in most cases.
    func run(_ event: ActivityMachine.Event, _ inside: inout Inside) -> Work? {
      if inside.machine.absorbs(event) { return nil }
      var work = Work()
      let effects = inside.machine.handle(event, at: now())
      work.offer = effects.visibility.map { broadcast.stage($0) }
      if let deadline = inside.machine.deadline, inside.wakesAt.map({ deadline < $0 }) ?? true {
        inside.wakesAt = deadline
        work.wakeAt = deadline
      }
      return work
    }

    func finish(_ work: Work) {
      if let deadline = work.wakeAt {
        Task {
          await sleep(deadline)
          wake(deadline)
        }
      }
      work.offer?.deliver()
      for observer in work.observers.values { observer() }
    }

    private func wake(_ deadline: Duration) {
      change { inside in
        if inside.wakesAt == deadline { inside.wakesAt = nil }
        return run(.timerFired, &inside)
      }
    }
  }
}

/// Publishes the state and the requests of an indicator as long as somebody holds this.
private final class ActivityFeed: Sendable {
  let broadcast: Broadcast<ActivityIndicator.Activity, Never>
  private let indicator: ActivityIndicator
  /// Held from reading a value until it has its place in the order.
  private let order = Lock(())
  private let visibility = Lock<CallbackSubscription?>(nil)

  init(_ indicator: ActivityIndicator) {
    self.indicator = indicator
    broadcast = Broadcast(indicator.takeActivity())
    indicator.onRequestChange(of: self) { [weak self] in self?.publish() }
    // At the end of a delay the state changes, and no request does.
    let subscription = indicator.onVisibilityChangeImmediately(initial: false) { [weak self] _ in self?.publish() }
    visibility.withLock { $0 = subscription }
    publish()
  }

  deinit { indicator.onRequestChange(of: self, nil) }

  private func publish() {
    let offer = order.withLock { _ in broadcast.stage(indicator.takeActivity()) }
    offer.deliver()
  }
}

/// A request that runs until you call ``end()`` or the token goes out of scope.
///
/// The token cannot be copied, so it needs no allocation. To share it between tasks, put it into an object of your own. It keeps
/// the indicator alive.
public struct RequestToken: ~Copyable, Sendable {
  private let indicator: ActivityIndicator
  private let ticket: RequestSet.Ticket
  /// Avoids the lock if a token that has ended goes out of scope.
  private let hasEnded = Atomic(false)

  init(_ indicator: ActivityIndicator, _ ticket: RequestSet.Ticket) {
    self.indicator = indicator
    self.ticket = ticket
  }

  deinit {
    if !hasEnded.load(ordering: .relaxed) { indicator.end(ticket) }
  }

  /// Ends the request. Can be called from any thread; only the first call has an effect.
  public func end() {
    if !hasEnded.exchange(true, ordering: .relaxed) { indicator.end(ticket) }
  }
}
