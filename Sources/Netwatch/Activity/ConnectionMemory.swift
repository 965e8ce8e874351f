/// Remembers one connection from scan to scan, and decides whether a request is in flight on it.
///
/// ```
///                  few bytes, just now
///        resting --------------------> undecided
///         ^   |  <--- long enough ------    |
///   quiet |   | busy                        | more
///         |   v                             v
///        inFlight <----------------------- inFlight
///         |   ^  goes on after a pause
///         v   |
///        pausing
/// ```
///
/// `resting`: no request was sent, or all are answered. `undecided`: a few bytes have just been sent, such as a key of a shell,
/// whose echo comes sooner than most responses. `pausing`: also in flight, but the response comes in bursts.
struct ConnectionMemory: Sendable {
  private enum State {
    case resting
    /// The time at which the state will be known.
    case undecided(until: Int64)
    /// The time at which the connection will be at rest unless more comes. Nil if it waits for something else.
    case inFlight(quietAt: Int64?)
    case pausing(quietAt: Int64?)
  }

  private var state = State.resting
  /// The number of the last scan that saw the connection.
  private(set) var scan: ConnectionActivity.Scan = 0
  /// Whether the connection has been in flight, and so in the count, since the end of the last scan.
  private(set) var isCounted = false
  /// Whether the connection belongs to a program that does not count. Nil while this is not known.
  var isIgnored: Bool?
  /// The time of the newest beginning or end.
  private(set) var date: Int64 = 0
  private(set) var inode: UInt32 = 0
  /// The counters at the last scan.
  private var sent: UInt64 = 0
  private var received: UInt64 = 0
  private var acknowledged: UInt64 = 0
  /// The time at which the connection was last at rest, and the counters at that time.
  private var restedAt: Int64?
  private var sentAtRest: UInt64 = 0
  private var receivedAtRest: UInt64 = 0
  private var busyAtRest: Int64 = 0
  /// The time at which a byte last moved.
  private var movedAt: Int64?
  /// The times of the last request and of the last part of its response.
  private var askedAt: Int64?
  private var answeredAt: Int64?
  private var seenAt: Int64?

  var isInFlight: Bool {
    switch state {
    case .resting, .undecided: false
    case .inFlight, .pausing: true
    }
  }

  /// The time at which another scan may find another state. Nil if that is not known.
  var quietAt: Int64? {
    switch state {
    case .resting: nil
    case .undecided(let moment): moment
    case .inFlight(let moment), .pausing(let moment): moment
    }
  }

  /// Takes the facts of a scan.
  ///
  /// - Parameters:
  ///   - now: The time at which the kernel was asked.
  ///   - scan: The number of the scan.
  ///   - lastScan: The time of the scan before. Nil if there was none.
  mutating func update(
    with facts: ConnectionFacts, at now: Int64, scan: ConnectionActivity.Scan, lastScan: Int64?, patience: Int64
  ) {
    self.scan = scan
    inode = facts.inode
    let isPausing = follow(facts, at: now, patience: patience)
    count(facts, at: now)
    // A connection does not wait for what was already there when it came to rest. Nor is that news if the next scan comes
    // soon.
    let isWaiting = facts.isWaiting && (restedAt == nil || asked(facts) > 0)
    let lull = isPausing ? ConnectionRules.pause : ConnectionRules.lull
    let isRecent =
      facts.idleAge.map { $0 <= (isInFlight || isPausing ? lull : ConnectionRules.quiet) } ?? false
      && (restedAt == nil || asked(facts) > 0 || answered(facts) > 0)
    let isBusy =
      switch facts.stage {
      case .connecting: true
      case .open: facts.queued > 0 || isWaiting || isRecent
      case .halfClosed: (facts.queued > 0 || isWaiting || isRecent) && facts.inode != 0
      case .ending: facts.queued > 0 || isRecent
      }
    let isPatient = now - (movedAt ?? now) < patience
    let wasInFlight = isInFlight
    guard isBusy, isPatient, !isSmallTalk(facts) else {
      if wasInFlight { date = now - (isPatient ? endAge(facts, at: now, lastScan: lastScan) : 0) }
      return rest(facts, at: now)
    }
    if !wasInFlight {
      date = now - beginAge(facts, at: now, lastScan: lastScan, patience: patience, isPausing: isPausing)
    }
    let waitsForQuiet = facts.queued == 0 && !isWaiting && facts.stage != .connecting
    let quietAt = waitsForQuiet ? facts.idleAge.map { now - $0 + lull } : nil
    state = isPausing ? .pausing(quietAt: quietAt) : .inFlight(quietAt: quietAt)
  }

  enum Outcome {
    case same
    /// The connection counts from now on, or does not any more; with the date.
    case began(Int64)
    case ended(Int64)
    case gone(wasCounted: Bool)
  }

  /// Ends a scan.
  mutating func conclude(_ scan: ConnectionActivity.Scan, isWhole: Bool) -> Outcome {
    if self.scan != scan, isWhole { return .gone(wasCounted: isCounted) }
    let counts = isInFlight && isIgnored != true
    guard counts != isCounted else { return .same }
    isCounted = counts
    return counts ? .began(date) : .ended(date)
  }

  /// Notes when requests and responses came.
  ///
  /// - Returns: Whether the response comes in bursts, as throttled servers send.
  private mutating func follow(_ facts: ConnectionFacts, at now: Int64, patience: Int64) -> Bool {
    var isPausing = if case .pausing = state { true } else { false }
    let isAccepted = facts.isAccepted
    let hasAsked = isAccepted ? facts.bytesReceived != received : facts.bytesSent != sent
    let hasAnswered = isAccepted ? facts.bytesSent != sent : facts.bytesReceived != received
    let answered = now - (isAccepted ? facts.sentAge : facts.receivedAge)
    if hasAsked, !isSmallTalk(facts) {
      askedAt = now - (isAccepted ? facts.receivedAge : facts.sentAge)
      isPausing = false
    } else if hasAnswered, let answeredAt, let seenAt, seenAt - answeredAt > ConnectionRules.lull {
      // The last scan saw a pause, and now the response continues.
      let isFresh = isInFlight || askedAt.map { now - $0 < patience } ?? false
      isPausing = isFresh && answered - answeredAt <= ConnectionRules.pause
    }
    if hasAnswered { answeredAt = answered }
    seenAt = now
    return isPausing
  }

  private mutating func count(_ facts: ConnectionFacts, at now: Int64) {
    if movedAt == nil {
      movedAt = now - (facts.stage == .connecting ? facts.attemptAge : facts.idleAge ?? 0)
    } else if facts.bytesSent != sent || facts.bytesReceived != received || facts.bytesAcknowledged != acknowledged {
      movedAt = now - min(facts.idleAge ?? 0, facts.heardAge)
    }
    (sent, received, acknowledged) = (facts.bytesSent, facts.bytesReceived, facts.bytesAcknowledged)
  }

  private mutating func rest(_ facts: ConnectionFacts, at now: Int64) {
    if mayBeEchoed(facts) {
      state = .undecided(until: now - askedAge(facts) + ConnectionRules.quiet)
      return
    }
    state = .resting
    restedAt = now
    // Bytes that have just come without a request may be a ping, whose answer belongs to it.
    if isSmallTalk(facts), asked(facts) == 0, facts.idleAge ?? 0 <= ConnectionRules.lull { return }
    (sentAtRest, receivedAtRest, busyAtRest) = (facts.bytesSent, facts.bytesReceived, facts.busyTime)
  }

  /// Returns whether, since the connection was at rest, no more than a ping was answered, came without a request, or may
  /// still be answered.
  private func isSmallTalk(_ facts: ConnectionFacts) -> Bool {
    guard restedAt != nil else { return false }
    let (asked, answered) = (asked(facts), answered(facts))
    return answered > 0 && max(asked, answered) <= ConnectionRules.smallTalk || mayBeEchoed(facts)
  }

  /// Returns whether the bytes may be a key of a shell, whose echo comes sooner than most responses. If they are a request,
  /// the next scan can tell its age.
  private func mayBeEchoed(_ facts: ConnectionFacts) -> Bool {
    guard restedAt != nil, facts.stage == .open, answered(facts) == 0 else { return false }
    return 1...ConnectionRules.smallTalk ~= asked(facts) && askedAge(facts) < ConnectionRules.quiet
  }

  private func askedAge(_ facts: ConnectionFacts) -> Int64 { facts.isAccepted ? facts.receivedAge : facts.sentAge }

  private func asked(_ facts: ConnectionFacts) -> UInt64 {
    facts.isAccepted ? facts.bytesReceived &- receivedAtRest : facts.bytesSent &- sentAtRest
  }

  private func answered(_ facts: ConnectionFacts) -> UInt64 {
    facts.isAccepted ? facts.bytesSent &- sentAtRest : facts.bytesReceived &- receivedAtRest
  }

  /// Returns how long ago the request ended: with its last byte.
  ///
  /// If the request waited for a byte and none has moved since the last scan, one side has closed the connection. If it was
  /// the other side, that was when it was last heard from. If it was this side, the time is unknown.
  private func endAge(_ facts: ConnectionFacts, at now: Int64, lastScan: Int64?) -> Int64 {
    let age = facts.idleAge ?? 0
    guard quietAt == nil, facts.stage == .ending || facts.stage == .halfClosed, let lastScan, age > now - lastScan
    else {
      return age
    }
    return facts.heardAge <= now - lastScan ? facts.heardAge : 0
  }

  /// Returns how long ago the request began, at most the time since nothing was known to be in flight.
  private func beginAge(
    _ facts: ConnectionFacts, at now: Int64, lastScan: Int64?, patience: Int64, isPausing: Bool
  ) -> Int64 {
    let known = restedAt ?? lastScan
    let window = known.map { now - $0 } ?? patience
    if facts.stage == .connecting { return min(facts.attemptAge, window) }
    var age = facts.idleAge ?? 0
    func consider(_ candidate: Int64) { if candidate <= window { age = max(age, candidate) } }
    if facts.bytesSent > 0 { consider(facts.sentAge) }
    // A response that continues after a pause belongs to the request before the pause.
    if isPausing, let askedAt, now - askedAt <= patience { age = max(age, now - askedAt) }
    if known != nil { consider(facts.busyTime &- busyAtRest) }
    // On a new connection that has not heard anything yet, this is the age of the connection.
    if restedAt == nil || facts.isAccepted { consider(facts.receivedAge) }
    return age
  }
}

extension ConnectionFacts {
  /// The time since a byte went either way, in nanoseconds. Nil if none did.
  package var idleAge: Int64? {
    switch (bytesSent > 0, bytesReceived > 0) {
    case (true, true): min(sentAge, receivedAge)
    case (true, false): sentAge
    case (false, true): receivedAge
    case (false, false): nil
    }
  }

  /// Whether one side has sent a request and the other has not responded.
  package var isWaiting: Bool {
    if isAccepted { return bytesReceived > 0 && (bytesSent == 0 || receivedAge < sentAge) }
    guard bytesSent > 0 else { return false }
    if bytesReceived == 0 || sentAge < receivedAge { return true }
    // Both came within one tick of the kernel's clock, so what came afterwards tells which was last. A response brings its
    // own acknowledgement; a request is still to be acknowledged.
    return sentAge == receivedAge && heardAge < receivedAge
  }
}
