/// The state of an ``ActivityIndicator``, and what it does.
///
/// Separate from the indicator, so that a timer's task can hold it. A weak reference to the indicator would make each of its
/// retains and releases ten times as slow from then on.
final class ActivityCore: Sendable {
  struct Inside: Sendable {
    var requests = RequestSet()
    var machine: ActivityMachine
    /// The time at which the earliest waiting task looks at the machine. Tasks are not cancelled, because begins and ends
    /// move the deadline too often.
    var wakesAt: Duration?
    /// The observers; nil if there are none. An empty dictionary would slow down every begin and end.
    var busyObservers: [ObjectIdentifier: @Sendable () -> Void]?
  }

  /// The work that is left when the lock is released.
  struct Work: Sendable {
    var wakeAt: Duration?
    var offer: Broadcast<Bool, Never>.Offer?
    var busyObservers: [ObjectIdentifier: @Sendable () -> Void]?
  }

  let inside: Lock<Inside>
  let visibility = Broadcast<Bool, Never>(false)
  let now: @Sendable () -> Duration
  let sleep: @Sendable (Duration) async -> Void

  init<C: Clock>(_ configuration: ActivityConfiguration, clock: C) where C.Duration == Duration {
    inside = Lock(Inside(machine: ActivityMachine(configuration)))
    let origin = clock.now
    now = { origin.duration(to: clock.now) }
    sleep = { deadline in try? await clock.sleep(until: origin.advanced(by: deadline), tolerance: .zero) }
  }

  func begin(_ label: String?) -> RequestSet.Ticket {
    let (ticket, work) = inside.withLock { inside in
      let ticket = inside.requests.begin(label)
      return (ticket, inside.requests.count == 1 ? run(.busy, &inside) : nil)
    }
    if let work { finish(work) }
    return ticket
  }

  func end(_ ticket: RequestSet.Ticket) { changeRequests { $0.end(ticket) } }

  func changeRequests(_ body: (inout RequestSet) -> Void) {
    change { inside in
      let wasBusy = inside.requests.count > 0
      body(&inside.requests)
      let isBusy = inside.requests.count > 0
      return isBusy == wasBusy ? nil : run(isBusy ? .busy : .idle, &inside)
    }
  }

  func change(_ body: (inout Inside) -> Work?) {
    if let work = inside.withLock(body) { finish(work) }
  }

  /// Handles an event, under the lock: values are published in the order of the machine's changes.
  ///
  /// - Returns: The work that is left. Nil if there is none, as in most cases.
  func run(_ event: ActivityMachine.Event, _ inside: inout Inside) -> Work? {
    let isAbsorbed = inside.machine.absorbs(event)
    if isAbsorbed, inside.busyObservers == nil { return nil }
    var work = Work()
    if event == .busy || event == .idle { work.busyObservers = inside.busyObservers }
    if isAbsorbed { return work }
    let effects = inside.machine.handle(event, at: now())
    work.offer = effects.visibility.map { visibility.stage($0) }
    if let deadline = inside.machine.deadline, inside.wakesAt.map({ deadline < $0 }) ?? true {
      inside.wakesAt = deadline
      work.wakeAt = deadline
    }
    return work
  }

  private func finish(_ work: Work) {
    if let deadline = work.wakeAt {
      Task { [self] in
        await sleep(deadline)
        wake(deadline)
      }
    }
    work.offer?.deliver()
    if let observers = work.busyObservers { for observer in observers.values { observer() } }
  }

  private func wake(_ deadline: Duration) {
    change { inside in
      if inside.wakesAt == deadline { inside.wakesAt = nil }
      return run(.timerFired, &inside)
    }
  }
}
