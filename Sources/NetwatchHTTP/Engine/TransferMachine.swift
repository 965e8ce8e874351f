import HTTPTypes
import Netwatch

/// The states of a task, from its creation to its one end: its attempts, its redirects, its delays and its deadlines. Pure: events and
/// times in, effects out.
///
/// ```
///             resumed           path                     ended, cancelled
///   suspended --------> waiting -----> running <-----+ ----------------> over
///       ^  ^   (only where a task waits)  |  | ^     |
///       |  +------------------------------+  | +-----+ next attempt: redirect, answer to a challenge
///       |        suspended: held back, paused|
///       +------------------------------------+ offline, to be tried again
///                                            |
///                    running <---- delayed <-+ an interceptor wants another attempt
/// ```
///
/// A running task is held back while it is suspended, or while somebody decides about its request, a redirect, a challenge or a
/// failure. libcurl is then paused. If the attempt ends nevertheless, the end waits until nothing holds the task back.
struct TransferMachine {
  enum Event {
    case resumed
    case suspended
    /// The task ends with the failure that its driver has stored.
    case cancelled
    case pathArrived
    /// A deadline may have passed. `isQueued`: the attempt waits for one of the session's connections, and that time does not count.
    case timePassed(isQueued: Bool)
    case asked(Asked)
    /// The answer lets the attempt continue.
    case accepted
    /// The interceptors have made this request for the attempt.
    case adapted(HTTPRequest)
    /// Another attempt follows at once, with the request to which the caller lets a redirect lead.
    case redirected(HTTPRequest)
    /// Another attempt follows at once, with the credential that a challenge has asked for.
    case answered(HTTPCredential)
    /// Another attempt follows after a delay, as if it were the first.
    case retried(after: Duration)
    /// libcurl has ended the attempt, and somebody is asked whether it is the last one.
    case attemptFailed
    /// libcurl has ended the attempt. It is the last one, unless it has succeeded and its response leads to another request.
    case attemptEnded(hasFailed: Bool)
    /// The attempt has brought nothing that can be used, and is made again.
    case attemptRepeated
    /// The attempt has failed because there is no path, and may be repeated.
    case attemptWentOffline
    /// The connection of the attempt is lost, and the attempt may be repeated. libcurl has not noticed it.
    case connectionLost
  }

  /// Who decides before the attempt goes on: the caller or an interceptor, or the cache.
  enum Asked: Hashable { case caller, cache }

  /// What becomes of the response of an attempt.
  enum Verdict: Hashable {
    /// The head has not arrived, another head may follow, or somebody is being asked.
    case undecided
    /// The body is read and thrown away, and this request follows.
    case skipped(HTTPRequest)
    /// The body is read and thrown away, because the cache has the response.
    case replaced
    case accepted
  }

  /// What the transfer has to do, in this order.
  struct Effects: OptionSet, Hashable {
    let rawValue: UInt16
    /// Take the handle from libcurl, whatever the state of the attempt is.
    static let detach = Effects(rawValue: 1 << 0)
    static let pause = Effects(rawValue: 1 << 1)
    static let endActivity = Effects(rawValue: 1 << 2)
    static let stopWaiting = Effects(rawValue: 1 << 3)
    /// Have ``pathArrived`` told, and set the end of the wait with ``wait(until:)``.
    static let waitForPath = Effects(rawValue: 1 << 4)
    static let beginActivity = Effects(rawValue: 1 << 5)
    /// Ask the interceptors for the request to send.
    static let adapt = Effects(rawValue: 1 << 6)
    /// Make an attempt.
    static let attach = Effects(rawValue: 1 << 7)
    static let proceed = Effects(rawValue: 1 << 8)
    /// Deliver the outcome and forget the task.
    static let complete = Effects(rawValue: 1 << 9)
    /// Nothing has moved for too long.
    static let endIdleness = Effects(rawValue: 1 << 10)
    /// The time for the whole task is over.
    static let endTime = Effects(rawValue: 1 << 11)
    /// No path has come in time.
    static let endPathWait = Effects(rawValue: 1 << 12)
  }

  enum Phase: Hashable {
    /// The task has not begun, or was suspended while it waited.
    case suspended
    /// The task waits for a path. The wait has an end when ``wait(until:)`` has set it.
    case waiting(until: Duration?)
    /// The task waits between two attempts.
    case delayed(until: Duration)
    case running(Attempt)
    /// The task is over. The completion is part of the request: if the task was active, its activity ends after the completion
    /// has run.
    case over(wasActive: Bool)

    /// The state that callers see.
    var state: HTTPTaskInfo.State {
      switch self {
      case .suspended: .suspended
      case .waiting, .delayed: .waiting
      case .running(let attempt): attempt.isSuspended ? .suspended : .running
      case .over: .finished
      }
    }
  }

  struct Attempt: Hashable {
    enum End: Hashable { case last, again, later(after: Duration), offline }
    /// How the attempt has ended; nil while libcurl has it.
    var end: End?
    var isSuspended = false
    /// Who decides about the request, a redirect, a challenge or a failure, or looks for a response; nil if nobody does.
    var asked: Asked?
    var verdict = Verdict.undecided

    var isHeldBack: Bool { isSuspended || asked != nil }
  }

  private(set) var phase = Phase.suspended
  private(set) var chain: RequestChain
  /// Whether the task waits for a path before it begins.
  let waitsForPath: Bool
  /// Whether interceptors are asked for the request before it is sent.
  let adapts: Bool
  /// The time after which an attempt ends in which nothing moves; nil for no limit.
  private let timeout: Duration?
  private let totalTimeout: Duration?
  private var lastMoved = Duration.zero
  /// The time at which the time for the whole task is over. Nil if there is no limit, or if it has not begun.
  private var end: Duration?
  /// Whether the attempt delivers the response of the cache.
  private(set) var isFromCache = false
  /// Whether the reader of the body has enough for now.
  var isStalled = false

  init(_ plan: RequestPlan, waitsForPath: Bool, adapts: Bool) {
    chain = RequestChain(plan)
    timeout = plan.options.timeout?.asDelay
    totalTimeout = plan.options.totalTimeout?.asDelay
    self.waitsForPath = waitsForPath
    self.adapts = adapts
  }

  mutating func handle(_ event: Event, at now: Duration) -> Effects {
    let wasActive = isActive
    var (next, effects) = transition(on: event, at: now)
    phase = next
    if effects.contains(.attach) { isFromCache = false }
    if isActive != wasActive, !isOver { effects.insert(isActive ? .beginActivity : .endActivity) }
    return effects
  }

  /// Whether the task is active. A task that waits or is suspended is not.
  var isActive: Bool {
    switch phase {
    case .suspended, .waiting, .delayed: false
    case .running(let attempt): !attempt.isSuspended
    case .over(let wasActive): wasActive
    }
  }

  var isOver: Bool { if case .over = phase { true } else { false } }

  /// Whether nothing happens until the task is resumed.
  var isSuspended: Bool {
    switch phase {
    case .suspended: true
    case .running(let attempt): attempt.isSuspended
    case .waiting, .delayed, .over: false
    }
  }

  /// Whether somebody decides about the request, a redirect, a challenge or a failure, or the cache looks.
  var isAsking: Bool { if case .running(let attempt) = phase { attempt.asked != nil } else { false } }

  /// Whether libcurl has the attempt.
  var isAttached: Bool { if case .running(let attempt) = phase { attempt.end == nil } else { false } }

  /// What becomes of the response of the attempt.
  var verdict: Verdict { if case .running(let attempt) = phase { attempt.verdict } else { .undecided } }

  /// Decides what becomes of the response of the attempt.
  mutating func decide(_ verdict: Verdict) {
    guard case .running(var attempt) = phase else { return }
    attempt.verdict = verdict
    phase = .running(attempt)
  }

  /// Takes note that the attempt delivers the response of the cache from now on.
  mutating func answeredByCache() {
    isFromCache = true
    decide(.undecided)
  }

  // MARK: Deadlines

  /// The next time at which ``Event/timePassed(isQueued:)`` is due; nil if there is none.
  var deadline: Duration? {
    guard !isOver else { return nil }
    guard let own = ownDeadline else { return end }
    return end.map { min($0, own) } ?? own
  }

  /// The deadline of the phase, apart from that of the whole task.
  private var ownDeadline: Duration? {
    switch phase {
    case .waiting(let end): return end
    case .delayed(let end): return end
    case .running(let attempt):
      let isTimed = attempt.end == nil && !attempt.isSuspended && attempt.asked != .caller && !isFromCache
      return isTimed && !isStalled ? timeout.map { lastMoved + $0 } : nil
    case .suspended, .over: return nil
    }
  }

  /// Takes note that something has moved: the request has got a connection, or bytes have come or gone.
  mutating func moved(at now: Duration) { lastMoved = now }

  /// Starts the time for the whole task. Only the first call counts, and the first one after ``resetTotalTimeout()``.
  mutating func startClock(at now: Duration) { if end == nil { end = totalTimeout.map { now + $0 } } }

  /// Stops the time for the whole task, which has sent nothing yet: the wait for the first path does not count.
  mutating func resetTotalTimeout() { end = nil }

  /// Sets the time until which the task waits for a path.
  mutating func wait(until end: Duration) { if case .waiting = phase { phase = .waiting(until: end) } }

  private mutating func timePassed(isQueued: Bool, at now: Duration) -> (Phase, Effects) {
    if isQueued { lastMoved = now }
    guard let deadline, deadline <= now else { return (phase, []) }
    if deadline == end { return (phase, .endTime) }
    switch phase {
    case .waiting: return (phase, .endPathWait)
    case .delayed: return first
    case .running: return (phase, .endIdleness)
    case .suspended, .over: return (phase, [])
    }
  }

  // MARK: Transitions

  private mutating func transition(on event: Event, at now: Duration) -> (Phase, Effects) {
    switch (phase, event) {
    case (.over, _):
      return (phase, [])

    case (_, .timePassed(let isQueued)):
      return timePassed(isQueued: isQueued, at: now)

    case (.suspended, .resumed):
      return waitsForPath ? (.waiting(until: nil), .waitForPath) : first
    case (.suspended, .cancelled):
      return (over, .complete)

    case (.waiting, .pathArrived):
      let (phase, effects) = first
      return (phase, effects.union(.stopWaiting))
    case (.waiting, .suspended):
      return (.suspended, .stopWaiting)
    case (.waiting, .cancelled):
      return (over, [.stopWaiting, .complete])
    case (.delayed, .suspended):
      return (.suspended, [])
    case (.delayed, .cancelled):
      return (over, .complete)

    case (.running(let attempt), _):
      return transition(of: attempt, on: event, at: now)

    case (.suspended, _), (.waiting, _), (.delayed, _):
      return (phase, [])
    }
  }

  private mutating func transition(
    of attempt: Attempt, on event: Event, at now: Duration
  ) -> (Phase, Effects) {
    var next = attempt
    let isAttached = attempt.end == nil
    switch event {
    case .cancelled:
      return (over, isAttached ? [.detach, .complete] : .complete)
    case .suspended:
      next.isSuspended = true
      return (.running(next), isAttached && !attempt.isSuspended ? .pause : [])
    case .resumed:
      guard attempt.isSuspended else { return (phase, []) }
      next.isSuspended = false
      return continueAttempt(next, at: now)
    case .asked(let asked):
      next.asked = asked
      return (.running(next), [])
    case .accepted, .adapted:
      guard attempt.asked != nil else { return (phase, []) }
      if case .adapted(let request) = event { chain = chain.restarted(with: request) }
      next.asked = nil
      return continueAttempt(next, at: now)
    case .redirected, .answered, .retried:
      guard attempt.asked != nil else { return (phase, []) }
      next.asked = nil
      next.end = .again
      switch event {
      case .redirected(let request): chain = chain.following(request)
      case .answered(let credential): chain = chain.answering(with: credential)
      case .retried(let delay): next.end = .later(after: delay)
      default: break
      }
      let (phase, effects) = continueAttempt(next, at: now)
      return (phase, isAttached ? effects.union(.detach) : effects)
    case .attemptEnded(let hasFailed):
      guard isAttached else { return (phase, []) }
      next.end = .last
      if !hasFailed, case .skipped(let request) = attempt.verdict {
        chain = chain.following(request)
        next.end = .again
      }
      return continueAttempt(next, at: now)
    case .attemptRepeated, .attemptWentOffline:
      guard isAttached else { return (phase, []) }
      if case .attemptRepeated = event { next.end = .again } else { next.end = .offline }
      return continueAttempt(next, at: now)
    case .attemptFailed:
      guard isAttached else { return (phase, []) }
      next.end = .last
      next.asked = .caller
      return (.running(next), [])
    case .connectionLost:
      guard isAttached else { return (phase, []) }
      next.end = .offline
      let (phase, effects) = continueAttempt(next, at: now)
      return (phase, effects.union(.detach))
    case .pathArrived, .timePassed:
      return (phase, [])
    }
  }

  private func continueAttempt(_ attempt: Attempt, at now: Duration) -> (Phase, Effects) {
    guard !attempt.isHeldBack else { return (.running(attempt), []) }
    switch attempt.end {
    case nil: return (.running(attempt), .proceed)
    case .last: return (over, .complete)
    case .again: return (.running(Attempt()), .attach)
    case .later(let delay): return (.delayed(until: now + delay.asDelay), [])
    case .offline: return (.waiting(until: nil), .waitForPath)
    }
  }

  /// Begins the first attempt, or one that is made as if it were the first.
  private var first: (Phase, Effects) {
    adapts ? (.running(Attempt(end: .again, asked: .caller)), .adapt) : (.running(Attempt()), .attach)
  }

  private var over: Phase { .over(wasActive: isActive) }
}
