/// Counts requests that run, and tells when a person should see that the network is busy.
///
/// Shown after a second in which something ran and still runs, hidden 0.17 s after the last request has ended; see
/// ``ActivityState``. From any thread: to begin and to end takes one lock and allocates nothing.
public final class ActivityIndicator: RequestObserver, Sendable {
  private struct Inside: Sendable {
    var requests = RequestSet()
    var machine: ActivityMachine
    /// When the earliest of the tasks that wait will look at the machine. They are not cancelled: begins and ends move the
    /// deadline too often.
    var wakesAt: Duration?
    var onBusyChange: (@Sendable () -> Void)?
  }

  /// What is left to do when the lock is released.
  private struct Work: Sendable {
    var wakeAt: Duration?
    var offer: Broadcast<Bool, Never>.Offer?
    var onBusyChange: (@Sendable () -> Void)?
  }

  private let inside: Lock<Inside>
  private let visibilityBroadcast = Broadcast<Bool, Never>(false)
  private let now: @Sendable () -> Duration
  private let sleep: @Sendable (Duration) async -> Void

  /// On the monotonic clock.
  public convenience init(_ configuration: ActivityConfiguration = .init()) {
    self.init(configuration, clock: SuspendingClock())
  }

  /// - Parameter clock: of the two delays.
  public init<C: Clock>(_ configuration: ActivityConfiguration, clock: C) where C.Duration == Duration {
    inside = Lock(Inside(machine: ActivityMachine(configuration)))
    let origin = clock.now
    now = { origin.duration(to: clock.now) }
    sleep = { deadline in try? await clock.sleep(until: origin.advanced(by: deadline), tolerance: .zero) }
  }

  deinit { visibilityBroadcast.end(.success(())) }

  // MARK: State

  public var isVisible: Bool { state.isVisible }
  public var state: ActivityState { inside.withLock { $0.machine.state } }
  /// Requests that run.
  public var count: Int { inside.withLock { $0.requests.count } }
  /// The labels of those that were begun with one.
  public var labels: [String] { inside.withLock { $0.requests.labels } }

  /// While false, nothing is shown; requests are counted all the same, and looked at when it becomes true again.
  public var isEnabled: Bool {
    get { inside.withLock { $0.machine.isEnabled } }
    set { change { inside in self.run(newValue ? .enabled : .disabled, &inside) } }
  }

  /// Changed delays count for those that begin from then on.
  public var configuration: ActivityConfiguration {
    get { inside.withLock { $0.machine.configuration } }
    set { inside.withLock { $0.machine.configuration = newValue } }
  }

  // MARK: Requests

  /// Begins a request, which runs until its token is ended or dropped.
  ///
  /// - Parameter label: for ``labels``.
  public func begin(_ label: String? = nil) -> RequestToken {
    let (ticket, work) = inside.withLock { inside in
      let ticket = inside.requests.begin(label)
      return (ticket, inside.requests.count == 1 ? run(.busy, &inside) : Work())
    }
    finish(work)
    return RequestToken(self, ticket)
  }

  func end(_ ticket: RequestSet.Ticket) { changeRequests { $0.end(ticket) } }

  /// Beginning an id that runs changes nothing; nor does one whose end has come first.
  public func began(_ id: RequestID, isIndicated: Bool) {
    changeRequests { $0.began(id, isIndicated: isIndicated) }
  }

  public func ended(_ id: RequestID) { changeRequests { $0.ended(id) } }

  private func changeRequests(_ body: (inout RequestSet) -> Void) {
    change { inside in
      let wasBusy = inside.requests.count > 0
      body(&inside.requests)
      let isBusy = inside.requests.count > 0
      return isBusy == wasBusy ? Work() : run(isBusy ? .busy : .idle, &inside)
    }
  }

  // MARK: Observers

  /// Calls `body` on the caller's actor whenever the indicator is to be shown or hidden.
  ///
  /// - Parameter initial: whether `body` gets the present value too, before this returns. Default true.
  public func onVisibilityChange(
    initial: Bool = true, isolation: isolated any Actor = #isolation, _ body: @escaping (Bool) -> Void
  ) -> Subscription {
    visibilityBroadcast.call(of: self, initial: initial, isolation: isolation, body)
  }

  /// Calls `body` wherever `enqueue` runs what it is given, such as `{ queue.async(execute: $0) }`.
  ///
  /// - Parameter initial: whether `body` gets the present value too. Default true.
  public func onVisibilityChange(
    initial: Bool = true, enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    _ body: @escaping @Sendable (Bool) -> Void
  ) -> Subscription {
    visibilityBroadcast.call(of: self, initial: initial, enqueue: enqueue, body)
  }

  /// The present visibility, and each new one; ends when the indicator does.
  public var visibility: ActivityVisibility { ActivityVisibility(indicator: self, broadcast: visibilityBroadcast) }

  /// Calls `body` whenever the number of requests has become zero, or more than zero. Replaces the one before.
  package func onBusyChange(_ body: (@Sendable () -> Void)?) {
    inside.withLock { $0.onBusyChange = body }
  }

  // MARK: Running the machine

  private func change(_ body: (inout Inside) -> Work) { finish(inside.withLock(body)) }

  /// Under the lock: what is published has the order of the machine's changes.
  private func run(_ event: ActivityMachine.Event, _ inside: inout Inside) -> Work {
    let effects = inside.machine.handle(event, at: now())
    var work = Work()
    work.offer = effects.visibility.map { visibilityBroadcast.stage($0) }
    if event == .busy || event == .idle { work.onBusyChange = inside.onBusyChange }
    if let deadline = inside.machine.deadline, inside.wakesAt.map({ deadline < $0 }) ?? true {
      inside.wakesAt = deadline
      work.wakeAt = deadline
    }
    return work
  }

  private func finish(_ work: Work) {
    if let deadline = work.wakeAt {
      Task { [weak self, sleep] in
        await sleep(deadline)
        self?.wake(deadline)
      }
    }
    work.offer?.deliver()
    work.onBusyChange?()
  }

  private func wake(_ deadline: Duration) {
    change { inside in
      if inside.wakesAt == deadline { inside.wakesAt = nil }
      return run(.timerFired, &inside)
    }
  }
}

/// The visibility of an ``ActivityIndicator``, as it changes.
public struct ActivityVisibility: AsyncSequence, Sendable {
  public typealias Element = Bool
  public typealias Failure = Never

  fileprivate let indicator: ActivityIndicator
  fileprivate let broadcast: Broadcast<Bool, Never>

  public struct Iterator: AsyncIteratorProtocol {
    private let indicator: ActivityIndicator
    private let reader: BroadcastReader<Bool, Never>

    fileprivate init(_ visibility: ActivityVisibility) {
      indicator = visibility.indicator
      reader = BroadcastReader(visibility.broadcast, initial: true)
    }

    public mutating func next() async -> Bool? { await reader.next(isolation: #isolation) }
    public mutating func next(isolation: isolated (any Actor)?) async -> Bool? {
      await reader.next(isolation: isolation)
    }
  }

  public func makeAsyncIterator() -> Iterator { Iterator(self) }
}
