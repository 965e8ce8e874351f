import Netwatch

/// When a host name is looked up, and what is known of it. Pure: answers go in, questions come out.
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
/// A change of the network is looked up at once, and a lookup that it overtakes is not waited for: that one may be talking
/// to a server of the network before. But of two lookups that begin within `spacing` the first has to have failed: a name
/// that leads elsewhere each time would otherwise change the path that asks for the next one.
///
/// What is known stays known while nobody answers, however long that takes: the network may be down, and it is the old
/// addresses that tell when it is back. Only a server that knows of no address takes them away.
package struct HostMachine: Sendable {
  package enum Event: Hashable, Sendable {
    case started
    /// The path is another one, or the configuration of name servers and hosts.
    case changed
    /// An answer; it has addresses.
    case resolved(Resolution)
    case failed(ResolverError.Kind)
    case timerFired
  }

  package enum Effect: Hashable, Sendable {
    /// Ask. A lookup that goes on is dropped: nothing may be heard of it any more.
    case lookUp
    /// `timerFired` is due then, and at no other time.
    case arm(Duration)
    case disarm
    /// `addresses` are others, or known for the first time; or the first lookup has ended without that. Always the last one.
    case publish
  }

  private enum State: Hashable {
    case idle
    case lookingUp
    /// Something has changed since it began.
    case overtaken
    case resting
  }

  /// How far apart lookups begin while they succeed, and how long one that was overtaken may still take.
  static let spacing = Duration.seconds(1)
  /// An answer may not want to be asked for sooner than this.
  static let shortestRefresh = Duration.seconds(5)
  static let firstRetry = Duration.seconds(1)

  private let refresh: Duration
  private var state = State.idle
  /// When the last lookup began.
  private var beginning = Duration.zero
  private var failures = 0
  private var hasPublished = false
  /// Somebody has answered, though it be that there is no address.
  package private(set) var isKnown = false
  /// In the order of the answer that first had just these.
  package private(set) var addresses: [IPAddress] = []

  /// - Parameter refresh: how long an answer is good for at most, and the longest wait after failures.
  package init(refresh: Duration) { self.refresh = refresh.asDelay }

  package mutating func handle(_ event: Event, at now: Duration) -> [Effect] {
    let (next, effects) = transition(on: event, at: now)
    state = next
    return effects
  }

  private mutating func transition(on event: Event, at now: Duration) -> (State, [Effect]) {
    switch (state, event) {
    case (.idle, .started), (.resting, .timerFired), (.overtaken, .timerFired): return lookUp(at: now)

    // What has failed before the change says nothing of what comes after it: retries begin with short waits again.
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

  /// Answers differ in order alone where a server takes turns.
  ///
  /// - Parameter new: nil where nobody has answered.
  private mutating func know(_ new: [IPAddress]?) -> [Effect] {
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

  /// 1, 2, 4 and so on.
  private var retry: Duration {
    min(refresh, Self.firstRetry * (1 << min(failures - 1, 30)))
  }
}
