/// Decides when to ask the portal API of a network, and keeps the answer. Pure.
///
/// Advertisements are signed by nobody, so requests have a distance that nobody in the network can shorten.
package struct PortalMachine: Sendable {
  package struct Timing: Hashable, Sendable {
    /// The shortest time between the beginnings of two requests. Also the time to the next one while somebody has to log in.
    package var distance = Duration.seconds(10)
    /// The time after which a request is given up.
    package var limit = Duration.seconds(15)
    /// The time to the next request while traffic is let through, and the longest one after requests without an answer.
    package var renewal = Duration.seconds(300)
    /// The time before the end of a session at which the end is told.
    package var warning = Duration.seconds(300)

    package init() {}
  }

  package enum Event: Hashable, Sendable {
    /// What the network of the path says about its portal, and the link over which it says so; nil if it says nothing.
    case announced(PortalAPI?, over: InterfaceName?)
    case timerFired
    /// The answer may be old: the machine was suspended, or its clock was set.
    case doubted
    /// The request with this number has ended; nil without an answer.
    case ended(Int, CaptivePortal?)
  }

  package enum Effect: Hashable, Sendable {
    /// Begins the request with this number.
    case start(Int, PortalURL, over: InterfaceName)
    /// Ends the request with this number.
    case kill(Int)
    /// Sets the timer to `timerFired`; nil for no timer. Only the last setting counts.
    case arm(Duration?)
    /// A request has ended. Whether ``portal(at:)`` says something else than before.
    case concluded(isNews: Bool)
    /// The session ends soon.
    case endsSoon
  }

  private struct Source: Hashable {
    let address: PortalURL
    let link: InterfaceName

    /// Nil if there is no API to be asked, or its address is not one with https (RFC 8910, section 2).
    init?(_ portal: PortalAPI?, _ link: InterfaceName?) {
      guard case .address(let address)? = portal, address.isSecure, let link else { return nil }
      (self.address, self.link) = (address, link)
    }
  }

  /// The number of requests without an answer after which the last answer does not count any more.
  private static let mostFailures = 3

  private let timing: Timing
  /// What can be asked; nil if there is nothing.
  private var source: Source?
  private var answer: CaptivePortal?
  private var sessionEnd: Duration?
  /// Whether the end of the session was told.
  private var hasWarned = false
  private var running: (number: Int, until: Duration)?
  private var lastStart: Duration?
  private var nextStart: Duration?
  private var count = 0
  private var failures = 0

  package init(_ timing: Timing = Timing()) { self.timing = timing }

  /// What the API has answered, with the time that remains now. Nil if there is no answer.
  package func portal(at now: Duration) -> CaptivePortal? {
    var portal = answer
    portal?.secondsRemaining = sessionEnd.map { Int(clamping: max(.zero, $0 - now).components.seconds) }
    return portal
  }

  /// Whether a first answer is still to come.
  package var awaitsAnswer: Bool { source != nil && answer == nil && failures == 0 }

  package mutating func handle(_ event: Event, at now: Duration) -> [Effect] {
    var effects: [Effect] = []
    switch event {
    case .announced(let portal, let link):
      let source = Source(portal, link)
      guard source != self.source else { return [] }
      if let running { effects.append(.kill(running.number)) }
      (self.source, running, answer, sessionEnd, hasWarned, failures) = (source, nil, nil, nil, false, 0)
      nextStart = source == nil ? nil : soonest(after: now)
    case .doubted: if source != nil, running == nil { nextStart = soonest(after: now) }
    case .timerFired: break
    case .ended(let number, let answer):
      guard number == running?.number else { return [] }
      effects.append(conclude(answer, at: now))
    }
    if let running, running.until <= now { effects += [.kill(running.number), conclude(nil, at: now)] }
    if running == nil, let source, let nextStart, nextStart <= now {
      count += 1
      running = (count, now + timing.limit)
      (lastStart, self.nextStart) = (now, nil)
      effects.append(.start(count, source.address, over: source.link))
    }
    if let warning, warning <= now {
      hasWarned = true
      effects.append(.endsSoon)
    }
    return effects + [.arm([running?.until ?? nextStart, warning].compactMap(\.self).min())]
  }

  /// The time at which the end of the session is to be told; nil if it is not.
  private var warning: Duration? { hasWarned ? nil : sessionEnd.map { $0 - timing.warning } }

  private func soonest(after time: Duration) -> Duration {
    lastStart.map { max(time, $0 + timing.distance) } ?? time
  }

  private mutating func conclude(_ answer: CaptivePortal?, at now: Duration) -> Effect {
    running = nil
    let before = self.answer
    if let answer {
      failures = 0
      let isSame = before.map { answer.saysTheSame(as: $0) } ?? false
      let remaining = answer.isCaptive ? nil : answer.secondsRemaining.map { Duration.seconds($0) }
      (self.answer, sessionEnd) = (answer, remaining.map { now + $0 })
      // The line of the answer tells the end itself.
      if let remaining { hasWarned = remaining <= timing.warning && (hasWarned || !isSame) } else { hasWarned = true }
      // Most sessions are ended by a clock of whole seconds.
      let end = sessionEnd.map { $0 + .seconds(1) }
      nextStart = soonest(after: answer.isCaptive ? now : min(now + timing.renewal, end ?? now + timing.renewal))
      return .concluded(isNews: !isSame)
    }
    failures += 1
    if failures >= Self.mostFailures || sessionEnd.map({ $0 <= now }) == true {
      (self.answer, sessionEnd, hasWarned) = (nil, nil, true)
    }
    nextStart = soonest(after: now + min(timing.renewal, timing.distance * (1 << min(failures, 5))))
    return .concluded(isNews: before != nil && self.answer == nil)
  }
}
