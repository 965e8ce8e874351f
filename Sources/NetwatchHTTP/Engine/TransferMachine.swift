/// The states of a task, from its creation to its one end. Pure: events in, effects out.
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
  enum Event: CaseIterable {
    case resumed
    case suspended
    /// The task ends with the failure that its driver has stored.
    case cancelled
    case pathArrived
    /// The delay before another attempt is over.
    case delayEnded
    /// Somebody is asked about the request, a redirect or a challenge.
    case asked
    /// The response is that of the task, or the answer lets the attempt continue.
    case accepted
    /// Another attempt follows at once.
    case refused
    /// Another attempt follows after a delay, as if it were the first.
    case retried
    /// libcurl has ended the attempt, and somebody is asked whether it is the last one.
    case attemptFailed
    /// libcurl has ended the attempt, and it is the last one.
    case attemptEnded
    /// libcurl has ended the attempt, and another one follows.
    case attemptRedirected
    /// The attempt has failed because there is no path, and may be repeated.
    case attemptWentOffline
    /// The connection of the attempt is lost, and the attempt may be repeated. libcurl has not noticed it.
    case connectionLost
  }

  /// What the transfer has to do, in this order.
  struct Effects: OptionSet, Hashable {
    let rawValue: UInt16
    /// Take the handle from libcurl, whatever the state of the attempt is.
    static let detach = Effects(rawValue: 1 << 0)
    static let pause = Effects(rawValue: 1 << 1)
    static let endActivity = Effects(rawValue: 1 << 2)
    /// Stop waiting for a path or for the end of a delay.
    static let stopWaiting = Effects(rawValue: 1 << 3)
    static let waitForPath = Effects(rawValue: 1 << 4)
    static let delay = Effects(rawValue: 1 << 5)
    static let beginActivity = Effects(rawValue: 1 << 6)
    /// Ask the interceptors for the request to send.
    static let adapt = Effects(rawValue: 1 << 7)
    /// Make an attempt.
    static let attach = Effects(rawValue: 1 << 8)
    static let proceed = Effects(rawValue: 1 << 9)
    /// Deliver the outcome and forget the task.
    static let complete = Effects(rawValue: 1 << 10)
  }

  enum Phase: Hashable {
    /// The task has not begun, or was suspended while it waited.
    case suspended
    case waiting
    /// The task waits between two attempts.
    case delayed
    case running(Attempt)
    /// The task is over. The completion is part of the request: if the task was active, its activity ends after the completion
    /// has run.
    case over(wasActive: Bool)
  }

  struct Attempt: Hashable {
    enum End: Hashable { case last, again, later, offline }
    /// How the attempt has ended; nil while libcurl has it.
    var end: End?
    var isSuspended = false
    var isAsking = false

    var isHeldBack: Bool { isSuspended || isAsking }
  }

  private(set) var phase = Phase.suspended
  /// Whether the task waits for a path before it begins.
  let waitsForPath: Bool
  /// Whether interceptors are asked for the request before it is sent.
  let adapts: Bool

  init(waitsForPath: Bool, adapts: Bool) {
    self.waitsForPath = waitsForPath
    self.adapts = adapts
  }

  mutating func handle(_ event: Event) -> Effects {
    let wasActive = isActive
    var (next, effects) = transition(on: event)
    phase = next
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
  var isAsking: Bool { if case .running(let attempt) = phase { attempt.isAsking } else { false } }

  /// Whether libcurl has the attempt.
  var isAttached: Bool { if case .running(let attempt) = phase { attempt.end == nil } else { false } }

  private func transition(on event: Event) -> (Phase, Effects) {
    switch (phase, event) {
    case (.suspended, .resumed):
      return waitsForPath ? (.waiting, .waitForPath) : first
    case (.suspended, .cancelled):
      return (over, .complete)

    case (.waiting, .pathArrived), (.delayed, .delayEnded):
      let (phase, effects) = first
      return (phase, effects.union(.stopWaiting))
    case (.waiting, .suspended), (.delayed, .suspended):
      return (.suspended, .stopWaiting)
    case (.waiting, .cancelled), (.delayed, .cancelled):
      return (over, [.stopWaiting, .complete])

    case (.running(let attempt), _):
      return transition(of: attempt, on: event)

    case (.suspended, _), (.waiting, _), (.delayed, _), (.over, _):
      return (phase, [])
    }
  }

  private func transition(of attempt: Attempt, on event: Event) -> (Phase, Effects) {
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
      return goOn(next)
    case .asked:
      next.isAsking = true
      return (.running(next), [])
    case .accepted:
      guard attempt.isAsking else { return (phase, []) }
      next.isAsking = false
      return goOn(next)
    case .refused, .retried:
      guard attempt.isAsking else { return (phase, []) }
      next.isAsking = false
      next.end = event == .refused ? .again : .later
      let (phase, effects) = goOn(next)
      return (phase, isAttached ? effects.union(.detach) : effects)
    case .attemptEnded, .attemptRedirected, .attemptWentOffline:
      guard isAttached else { return (phase, []) }
      next.end = event == .attemptEnded ? .last : event == .attemptRedirected ? .again : .offline
      return goOn(next)
    case .attemptFailed:
      guard isAttached else { return (phase, []) }
      next.end = .last
      next.isAsking = true
      return (.running(next), [])
    case .connectionLost:
      guard isAttached else { return (phase, []) }
      next.end = .offline
      let (phase, effects) = goOn(next)
      return (phase, effects.union(.detach))
    case .pathArrived, .delayEnded:
      return (phase, [])
    }
  }

  private func goOn(_ attempt: Attempt) -> (Phase, Effects) {
    guard !attempt.isHeldBack else { return (.running(attempt), []) }
    switch attempt.end {
    case nil: return (.running(attempt), .proceed)
    case .last: return (over, .complete)
    case .again: return (.running(Attempt()), .attach)
    case .later: return (.delayed, .delay)
    case .offline: return (.waiting, .waitForPath)
    }
  }

  /// Begins the first attempt, or one that is made as if it were the first.
  private var first: (Phase, Effects) {
    adapts ? (.running(Attempt(end: .again, isAsking: true)), .adapt) : (.running(Attempt()), .attach)
  }

  private var over: Phase { .over(wasActive: isActive) }
}
