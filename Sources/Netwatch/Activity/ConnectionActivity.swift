/// Which TCP connections have a request in flight, and when to look at them again. Pure: what a look has seen goes in,
/// looks, timers and counts come out.
///
/// ```
///            watched                 lookEnded
///   at rest ---------> looking <--------------------> waiting for the next look
///      ^                  |        timerFired             |
///      +------------------+-------------------------------+ unwatched
/// ```
package struct ConnectionActivity: Sendable {
  package enum Event: Hashable, Sendable {
    /// Somebody wants to know from now on.
    case watched
    /// Nobody does any more.
    case unwatched
    case timerFired
    /// - isWhole: false if connections may be missing that are there.
    case lookEnded(isWhole: Bool)
  }

  /// What is to be done.
  package struct Effects: Hashable, Sendable {
    /// The kernel is to be asked: ``ConnectionActivity/see(_:at:)`` for each connection, then `lookEnded`.
    package var looks = false
    /// ``ConnectionActivity/deadline`` is another one.
    package var setsTimer = false
    package var change: Change?

    package init(looks: Bool = false, setsTimer: Bool = false, change: Change? = nil) {
      self.looks = looks
      self.setsTimer = setsTimer
      self.change = change
    }
  }

  /// Another number of connections is in flight.
  package struct Change: Hashable, Sendable {
    package let count: Int
    /// When this came about: of the first beginning, or of the last end.
    package let date: Duration

    package init(count: Int, date: Duration) {
      self.count = count
      self.date = date
    }
  }

  /// In flight.
  package private(set) var count = 0
  /// When `timerFired` is due.
  package private(set) var deadline: Duration?
  package private(set) var isLooking = false
  private let rules: ConnectionRules
  private let patience: Int64
  private var isWatched = false
  private var connections: [UInt64: ConnectionMemory] = [:]
  private var gone: [UInt64] = []
  private var look: UInt32 = 0
  private var seen = 0
  private var lookedAt: Int64?
  private var lastLook: Int64?
  private var busyAt: Int64 = 0
  /// When the first of those in flight may be at rest, or one at rest has waited for long enough to be in flight.
  private var quietAt = Int64.max

  package init(_ rules: ConnectionRules = .init()) {
    self.rules = rules
    patience = rules.patience.nanoseconds
  }

  package mutating func handle(_ event: Event, at now: Duration) -> Effects {
    let old = deadline
    var effects = Effects()
    switch event {
    case .watched:
      guard !isWatched else { return effects }
      isWatched = true
      busyAt = now.nanoseconds
      effects.looks = beginLook(at: now)
    case .unwatched:
      isWatched = false
      effects.change = forget(at: now)
    case .timerFired:
      guard let deadline, deadline <= now else { return effects }
      effects.looks = beginLook(at: now)
    case .lookEnded(let isWhole):
      guard isLooking else { return effects }
      isLooking = false
      effects.change = conclude(isWhole: isWhole, at: now)
      lastLook = lookedAt
      deadline = isWatched ? nextLook(at: now) : nil
    }
    effects.setsTimer = deadline != old
    return effects
  }

  /// Takes what the look says of one connection.
  ///
  /// - Parameter now: when the kernel said it, in nanoseconds.
  package mutating func see(_ facts: ConnectionFacts, at now: Int64) {
    guard isLooking else { return }
    seen += 1
    // In place: with a copy of the whole a look would take seconds.
    connections[facts.cookie, default: ConnectionMemory()]
      .take(facts, at: now, look: look, lastLook: lastLook, patience: patience)
  }

  /// The indicator will decide at `moment`: what it goes by shall be fresh.
  ///
  /// - Returns: whether ``deadline`` is another one.
  package mutating func hasten(for moment: Duration, at now: Duration) -> Bool {
    let wanted = moment - .nanoseconds(ConnectionRules.lead)
    guard let deadline, wanted > now, wanted < deadline else { return false }
    self.deadline = wanted
    return true
  }

  // MARK: Owners

  /// Calls `body` with each connection that would count, and of which nobody has said whether its program does. To be
  /// asked before `lookEnded`.
  package func forEachStranger(_ body: (_ cookie: UInt64, _ inode: UInt32) -> Void) {
    for (cookie, memory) in connections where memory.isInFlight && memory.isIgnored == nil {
      body(cookie, memory.inode)
    }
  }

  /// Says whether a connection's program does not count.
  package mutating func identify(_ cookie: UInt64, isIgnored: Bool) { connections[cookie]?.isIgnored = isIgnored }

  /// The sockets that are counted.
  package var inodes: [UInt32] { connections.values.lazy.filter(\.isCounted).map(\.inode) }

  // MARK: Looks

  private mutating func beginLook(at now: Duration) -> Bool {
    deadline = nil
    guard !isLooking else { return false }
    isLooking = true
    look &+= 1
    seen = 0
    lookedAt = now.nanoseconds
    return true
  }

  private mutating func forget(at now: Duration) -> Change? {
    connections = [:]
    deadline = nil
    isLooking = false
    lastLook = nil
    defer { count = 0 }
    return count > 0 ? Change(count: 0, date: now) : nil
  }

  private mutating func conclude(isWhole: Bool, at now: Duration) -> Change? {
    let before = count
    var (began, ended) = (Int64.max, Int64.min)
    quietAt = .max
    var place = connections.values.startIndex
    while place != connections.values.endIndex {
      switch connections.values[place].conclude(look, isWhole: isWhole) {
      case .same: break
      case .began(let date):
        count += 1
        began = min(began, date)
      case .ended(let date):
        count -= 1
        ended = max(ended, date)
      case .gone(let wasCounted):
        gone.append(connections.keys[place])
        if wasCounted {
          count -= 1
          ended = now.nanoseconds
        }
      }
      if let quiet = connections.values[place].quietAt { quietAt = min(quietAt, quiet) }
      connections.values.formIndex(after: &place)
    }
    for cookie in gone { connections[cookie] = nil }
    gone.removeAll(keepingCapacity: true)
    guard count != before else { return nil }
    return Change(count: count, date: .nanoseconds(min(count > before ? began : ended, now.nanoseconds)))
  }

  private mutating func nextLook(at now: Duration) -> Duration {
    let interval = rules.interval.nanoseconds
    let begin = lookedAt ?? now.nanoseconds
    var next = begin + interval
    if count > 0 {
      busyAt = begin
      // An end shows in the look after it only, so these come a little sooner, and where one may be due.
      next = min(begin + interval / 5 * 4, max(quietAt, begin + interval / 5))
    } else if quietAt < .max {
      next = min(next, quietAt)
    } else if begin - busyAt >= rules.restsAfter.nanoseconds {
      next += interval
    }
    return .nanoseconds(max(next, now.nanoseconds))
  }
}

extension Duration {
  /// Whole nanoseconds, rounded toward zero.
  fileprivate var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }
}
