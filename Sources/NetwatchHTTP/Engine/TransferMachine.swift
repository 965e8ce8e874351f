/// What a task does, from its creation to its one end. Pure: events in, effects out.
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
/// A running task that is suspended, or whose request, redirect, challenge or failure somebody is thinking about, is held back:
/// libcurl is paused, and an end that comes nevertheless waits until nothing holds it back any more.
struct TransferMachine {
  enum Event: CaseIterable {
    case resumed
    case suspended
    /// The task is to end with the failure that its driver has at hand.
    case cancelled
    case pathArrived
    /// The time before another attempt is over.
    case delayEnded
    /// Somebody is asked about a redirect or a challenge.
    case asked
    /// The response is the one.
    case accepted
    /// Another attempt is to be made, at once.
    case refused
    /// Another attempt is to be made after a time, as if it were the first.
    case retried
    /// libcurl is done with the attempt, and somebody is asked whether it is the last one.
    case attemptFailed
    /// libcurl is done with the attempt, and it is the last one.
    case attemptEnded
    /// libcurl is done with the attempt, and another one is to follow.
    case attemptRedirected
    /// The attempt has failed for want of a path, and may be made again.
    case attemptWentOffline
    /// The connection of the attempt is lost, and the attempt may be made again. libcurl does not know it.
    case connectionLost
  }

  /// To be carried out in this order.
  struct Effects: OptionSet, Hashable {
    let rawValue: UInt16
    /// Take libcurl's handle away, in whatever state the attempt is.
    static let detach = Effects(rawValue: 1 << 0)
    static let pause = Effects(rawValue: 1 << 1)
    static let endActivity = Effects(rawValue: 1 << 2)
    /// For a path or for the end of a delay.
    static let stopWaiting = Effects(rawValue: 1 << 3)
    static let waitForPath = Effects(rawValue: 1 << 4)
    static let delay = Effects(rawValue: 1 << 5)
    static let beginActivity = Effects(rawValue: 1 << 6)
    /// Ask for the request that is to be sent.
    static let adapt = Effects(rawValue: 1 << 7)
    /// Make an attempt.
    static let attach = Effects(rawValue: 1 << 8)
    static let proceed = Effects(rawValue: 1 << 9)
    /// Deliver the outcome, and forget the task.
    static let complete = Effects(rawValue: 1 << 10)
  }

  enum Phase: Hashable {
    /// Not begun, or suspended while it waited.
    case suspended
    case waiting
    /// Between two attempts.
    case delayed
    case running(Attempt)
    /// The completion is a part of the request: where that was active, its activity ends after the completion has run.
    case over(wasActive: Bool)
  }

  struct Attempt: Hashable {
    enum End: Hashable { case last, again, later, offline }
    /// How it has ended; nil while libcurl has it.
    var end: End?
    var isSuspended = false
    var isAsking = false

    var isHeldBack: Bool { isSuspended || isAsking }
  }

  private(set) var phase = Phase.suspended
  /// Begins only once there is a path.
  let waitsForPath: Bool
  /// Somebody is asked for the request before it is sent.
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

  /// Nothing counts as active that waits for a path or is suspended.
  var isActive: Bool {
    switch phase {
    case .suspended, .waiting, .delayed: false
    case .running(let attempt): !attempt.isSuspended
    case .over(let wasActive): wasActive
    }
  }

  var isOver: Bool { if case .over = phase { true } else { false } }

  /// Nothing happens any more unless somebody resumes it.
  var isSuspended: Bool {
    switch phase {
    case .suspended: true
    case .running(let attempt): attempt.isSuspended
    case .waiting, .delayed, .over: false
    }
  }

  /// libcurl has the attempt.
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

  /// The first attempt, or one that is made as if it were the first.
  private var first: (Phase, Effects) {
    adapts ? (.running(Attempt(end: .again, isAsking: true)), .adapt) : (.running(Attempt()), .attach)
  }

  private var over: Phase { .over(wasActive: isActive) }
}
