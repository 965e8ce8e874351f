/// Decides when to probe the internet and over which link, and keeps the result. Pure: paths, timers and answers go in.
///
/// ```
///   fresh ------------------ path ------------------+
///                                                   v          answer, overdue
///   idle -- path --> settling ------- timer ----> probing -------------------------> resting
///    ^                 ^ ^                          |  ^                                | |
///    |                 | +---------- path ----------+  +------------ timer ------------+ |
///    +-- no way out ---+----------------------- path, doubted --------------------------+
/// ```
///
/// Only the newest probe counts: a new path ends the probe that runs.
package struct ProbeMachine: Hashable, Sendable {
  package struct Timing: Hashable, Sendable {
    /// The time that a path has to stay unchanged before it is probed, because changes come in bursts.
    package var settling = Duration.milliseconds(200)
    /// The time after which a probe is given up.
    package var limit = Duration.seconds(12)
    /// The time from an answer to the next probe. Zero: there is no next probe.
    package var interval = Duration.seconds(300)
    /// The time to the next probe while the internet is not there, if that is shorter: somebody may be logging in.
    package var retry = Duration.seconds(10)

    package init() {}
  }

  package enum Event: Hashable, Sendable {
    /// A new path was published.
    case path(NetworkPath.Verdict)
    case timerFired
    /// The result may be old: the machine was suspended, its clock was set, or the network says something else about itself.
    case doubted
    /// The probe with this number has ended.
    case ended(Int, InternetAccess)
  }

  package enum Effect: Hashable, Sendable {
    /// Begins the probe with this number over a link.
    case start(Int, over: InterfaceName)
    /// Ends the probe with this number.
    case kill(Int)
    /// Sets the timer to `timerFired`; nil for no timer. Only the last setting counts.
    case arm(Duration?)
    /// An answer. If it is no news, ``internet`` was the same before.
    case answer(InternetAccess, isNews: Bool)
  }

  private enum State: Hashable {
    /// No path is known yet. The first one is probed at once.
    case fresh
    /// There is no way out.
    case idle
    case settling(until: Duration)
    case probing(Int, until: Duration)
    /// Nil: until the path changes.
    case resting(until: Duration?)
  }

  private typealias Step = (state: State, internet: InternetAccess, effects: [Effect])

  /// The current result. A new path makes it unknown, or absent if the path leads nowhere.
  package private(set) var internet = InternetAccess.unknown
  private let timing: Timing
  private var state = State.fresh
  private var count = 0
  /// The link that a probe goes over: the outermost tunnel if there is one, else the link that carries the traffic.
  private var interface: InterfaceName?

  package init(_ timing: Timing = Timing()) { self.timing = timing }

  /// Whether an answer is still to come.
  package var awaitsAnswer: Bool {
    switch state {
    case .settling, .probing: true
    case .fresh, .idle, .resting: false
    }
  }

  package mutating func handle(_ event: Event, at now: Duration) -> [Effect] {
    if case .path(let verdict) = event {
      interface = verdict.isReachable ? verdict.vpn?.kernelName ?? verdict.interfaceName : nil
    }
    let effects: [Effect]
    (state, internet, effects) = step(on: event, at: now)
    if case .probing(let number, _) = state { count = number }
    return effects
  }

  private func step(on event: Event, at now: Duration) -> Step {
    switch (state, event) {
    case (.fresh, .path(let verdict)): settled(verdict, at: now) { probe(at: now, knowing: $0) }
    case (.probing(let number, _), .path(let verdict)):
      settled(verdict, at: now, after: [.kill(number)]) { wait(at: now, knowing: $0) }
    case (.idle, .path(let verdict)), (.settling, .path(let verdict)), (.resting, .path(let verdict)):
      settled(verdict, at: now) { wait(at: now, knowing: $0) }

    case (.settling(let end), .timerFired) where end <= now: probe(at: now, knowing: internet)
    case (.resting(let end?), .timerFired) where end <= now: probe(at: now, knowing: internet)
    case (.probing(let number, let end), .timerFired) where end <= now:
      rest(with: .unknown, at: now, after: [.kill(number)])
    // The old result stays until the answer has come.
    case (.resting, .doubted): wait(at: now, knowing: internet)
    case (.probing(let number, _), .ended(let ended, let access)) where ended == number: rest(with: access, at: now)

    // Too early, or no longer needed.
    case (.fresh, _), (.idle, _), (.settling, _), (.probing, _), (.resting, _):
      (state, internet, [])
    }
  }

  /// A path without a way out is not probed.
  private func settled(
    _ verdict: NetworkPath.Verdict, at now: Duration, after effects: [Effect] = [],
    _ next: (InternetAccess) -> Step
  ) -> Step {
    let known = InternetAccess(beforeProbing: verdict.status)
    var step = interface == nil ? (.idle, known, [.arm(nil)]) : next(known)
    step.effects = effects + step.effects
    return step
  }

  private func wait(at now: Duration, knowing internet: InternetAccess) -> Step {
    let end = now + timing.settling
    return (.settling(until: end), internet, [.arm(end)])
  }

  private func probe(at now: Duration, knowing internet: InternetAccess) -> Step {
    guard let interface else { return (.idle, internet, []) }
    let end = now + timing.limit
    return (.probing(count + 1, until: end), internet, [.arm(end), .start(count + 1, over: interface)])
  }

  private func rest(with access: InternetAccess, at now: Duration, after effects: [Effect] = []) -> Step {
    var pause = timing.interval
    if !access.isFull { pause = min(pause, timing.retry) }
    let end = timing.interval == .zero ? nil : now + pause
    return (.resting(until: end), access, effects + [.arm(end), .answer(access, isNews: access != internet)])
  }
}

extension InternetAccess {
  /// Creates the state before a probe. Without a way out there is no internet, and no probe is needed.
  package init(beforeProbing status: ReachabilityStatus) {
    if case .notReachable = status { self = .absent } else { self = .unknown }
  }
}
