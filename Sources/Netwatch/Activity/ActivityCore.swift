/// What an ``ActivityIndicator`` knows and does.
///
/// Apart from it, so that a timer's task can hold it: a weak reference to the indicator would make every retain and release
/// of it ten times as slow from then on.
final class ActivityCore: Sendable {
  struct Inside: Sendable {
    var requests = RequestSet()
    var machine: ActivityMachine
    /// When the earliest of the tasks that wait will look at the machine. They are not cancelled: begins and ends move the
    /// deadline too often.
    var wakesAt: Duration?
    /// Nil where there is none: an empty dictionary would cost every begin and end.
    var busyObservers: [ObjectIdentifier: @Sendable () -> Void]?
  }

  /// What is left to do when the lock is released.
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

  /// Under the lock: what is published has the order of the machine's changes.
  ///
  /// - Returns: nil where nothing is left to do, as mostly.
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
