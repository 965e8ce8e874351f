import Netwatch

/// Decides when a host name is looked up, and stores its addresses. Pure: answers go in, lookups come out.
///
/// ```
///            started               resolved, failed
///   idle ------------> lookingUp --------------------> resting
///                       |  ^  ^                           |
///               changed |  |  +---------------------------+
///                       v  |        timer, changed
///                    overtaken
///              timer, or its failure
/// ```
///
/// After a change of the network, the name is looked up at once. A running lookup is dropped, because it may use a server of
/// the former network. There is one exception: if the running lookup began less than `spacing` ago, it first has to fail or to
/// take that long. Otherwise, a name that leads to another address each time would change the path, and each change of the path
/// would start the next lookup.
///
/// Known addresses stay known while no server answers, however long that takes. The network may be down, and the old addresses
/// tell when it is back. Only a server that reports no address removes them.
package struct HostMachine: Sendable {
  /// The input of the machine.
  package enum Event: Hashable, Sendable {
    /// The machine was started.
    case started
    /// The path has changed, or the configuration of name servers and hosts.
    case changed
    /// A lookup has ended with addresses.
    case resolved(Resolution)
    /// A lookup has failed.
    case failed(ResolverError.Kind)
    /// The timer has fired.
    case timerFired
  }

  /// The actions that the machine asks for.
  package enum Effect: Hashable, Sendable {
    /// Start a lookup. A running lookup is dropped, and its result must not be reported.
    case lookUp
    /// Set the timer: `timerFired` is due at this time, and at no other time.
    case arm(Duration)
    /// Stop the timer.
    case disarm
    /// Publish `addresses`: they have changed or are known for the first time, or the first lookup has failed. This is always
    /// the last effect.
    case publish
  }

  private enum State: Hashable {
    case idle
    case lookingUp
    /// Something has changed since the lookup began.
    case overtaken
    case resting
  }

  /// The shortest time between the beginnings of two successful lookups, and the longest time of a lookup that was overtaken.
  static let spacing = Duration.seconds(1)
  /// The shortest time for which an answer is used, whatever its time to live is.
  static let shortestRefresh = Duration.seconds(5)
  private static let firstRetry = Duration.seconds(1)

  private let refresh: Duration
  private var state = State.idle
  /// The time at which the last lookup began.
  private var beginning = Duration.zero
  private var failures = 0
  private var hasPublished = false
  /// Whether a server has answered, even if it reported no address.
  package private(set) var isKnown = false
  /// The known addresses, in the order of the first answer with this set of addresses.
  package private(set) var addresses: [InternetAddress] = []

  /// Creates a machine that has not started.
  ///
  /// - Parameter refresh: The longest time for which an answer is used, and the longest wait after failures.
  package init(refresh: Duration) { self.refresh = refresh.asDelay }

  /// Handles an event at a time of the monotonic clock, and returns the actions to take, in order.
  package mutating func handle(_ event: Event, at now: Duration) -> [Effect] {
    let (next, effects) = transition(on: event, at: now)
    state = next
    return effects
  }

  private mutating func transition(on event: Event, at now: Duration) -> (State, [Effect]) {
    switch (state, event) {
    case (.idle, .started), (.resting, .timerFired), (.overtaken, .timerFired): return lookUp(at: now)

    // Failures before the change mean nothing for the time after it, so retries begin with short waits again.
    case (.lookingUp, .changed):
      failures = 0
      if now >= beginning + Self.spacing { return lookUp(at: now) }
      return (.overtaken, [.arm(beginning + Self.spacing)])
    case (.resting, .changed):
      defer { failures = 0 }
      if failures > 0 || now >= beginning + Self.spacing { return lookUp(at: now) }
      return (.resting, [.arm(beginning + Self.spacing)])

    case (.lookingUp, .resolved(let answer)):
      failures = 0
      return (.resting, [.arm(now + lifetime(of: answer))] + know(answer.addresses))
    case (.overtaken, .resolved(let answer)):
      failures = 0
      return (.resting, [.arm(beginning + Self.spacing)] + know(answer.addresses))

    case (.lookingUp, .failed(let kind)):
      failures += 1
      return (.resting, [.arm(now + retry)] + know(kind.isDefinite ? [] : nil))
    case (.overtaken, .failed):
      return lookUp(at: now)

    case (.idle, .changed), (.idle, .resolved), (.idle, .failed), (.idle, .timerFired), (.lookingUp, .started),
      (.lookingUp, .timerFired), (.overtaken, .started), (.overtaken, .changed), (.resting, .started),
      (.resting, .resolved), (.resting, .failed):
      return (state, [])
    }
  }

  private mutating func lookUp(at now: Duration) -> (State, [Effect]) {
    beginning = now
    return (.lookingUp, [.disarm, .lookUp])
  }

  /// Stores the addresses of an answer. Two answers may differ only in order, if a server rotates its addresses; that is no
  /// change.
  ///
  /// - Parameter new: The addresses; nil if no server has answered.
  private mutating func know(_ new: [InternetAddress]?) -> [Effect] {
    var isNews = !hasPublished
    hasPublished = true
    if let new {
      if !isKnown || Set(new) != Set(addresses) {
        addresses = new
        isNews = true
      }
      isKnown = true
    }
    return isNews ? [.publish] : []
  }

  private func lifetime(of answer: Resolution) -> Duration {
    min(refresh, max(answer.timeToLive ?? refresh, Self.shortestRefresh))
  }

  /// The wait after failures: 1, 2, 4 seconds and so on.
  private var retry: Duration {
    min(refresh, Self.firstRetry * (1 << min(failures - 1, 30)))
  }
}
