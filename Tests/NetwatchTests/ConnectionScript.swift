import Netwatch

/// A TCP connection in a test: what happens on it, and what the kernel would say about it at any moment.
struct ScriptedConnection {
  enum Act {
    case sends(UInt64)
    case receives(UInt64)
    /// The peer acknowledges without sending data.
    case hears
    case connects
    case closes
    case isClosedByPeer
    case becomesHalfClosed
  }

  let cookie: UInt64
  var begin = Duration.zero
  var isAccepted = false
  /// The time for which sent bytes stay in the send queue.
  var roundTrip = Duration.milliseconds(1)
  private(set) var acts: [(at: Duration, act: Act)] = []

  init(_ cookie: UInt64, at begin: Duration, isConnecting: Bool = false) {
    self.cookie = cookie
    self.begin = begin
    if !isConnecting { acts.append((begin, .connects)) }
  }

  mutating func add(_ act: Act, at moment: Duration) {
    acts.append((moment, act))
    acts.sort { $0.at < $1.at }
  }

  /// Adds a request of 100 bytes and an answer of 500 bytes.
  mutating func request(at moment: Duration, answeredAfter time: Duration) {
    add(.sends(100), at: moment)
    add(.hears, at: moment + .milliseconds(40))
    add(.receives(500), at: moment + time)
  }

  /// Returns what the kernel would say about the connection. Nil before the connection is made and after it is closed.
  func facts(at now: Duration) -> ConnectionFacts? {
    guard begin <= now else { return nil }
    var stage = ConnectionFacts.Stage.connecting
    var (sent, received, acknowledged): (UInt64, UInt64, UInt64) = (0, 0, 0)
    var (sentAt, receivedAt, heardAt) = (begin, begin, begin)
    var busy = Duration.zero
    var queued: UInt64 = 0
    for (moment, act) in acts where moment <= now {
      switch act {
      case .connects: (stage, sentAt, receivedAt, heardAt) = (.open, moment, moment, moment)
      case .sends(let count):
        (sent, sentAt) = (sent + count, moment)
        busy += min(roundTrip, now - moment)
        if moment + roundTrip > now { queued += count } else { acknowledged += count }
      case .receives(let count): (received, receivedAt, heardAt) = (received + count, moment, moment)
      case .hears: heardAt = moment
      case .closes: return nil
      case .isClosedByPeer: stage = .ending
      case .becomesHalfClosed: stage = .halfClosed
      }
    }
    var facts = ConnectionFacts(cookie: cookie, stage: stage)
    facts.isAccepted = isAccepted
    facts.inode = UInt32(cookie)
    facts.bytesSent = sent
    facts.bytesReceived = received
    facts.bytesAcknowledged = acknowledged
    facts.queued = UInt32(queued)
    facts.sentAge = Self.age(of: sentAt, at: now)
    facts.receivedAge = Self.age(of: receivedAt, at: now)
    facts.heardAge = Self.age(of: heardAt, at: now)
    if stage == .connecting { facts.attemptAge = Self.age(of: begin, at: now) }
    facts.busyTime = busy / .nanoseconds(1) > 0 ? Int64(busy / .nanoseconds(1)) : 0
    return facts
  }

  /// Returns the age of `moment` in nanoseconds. The kernel's clock ticks every four milliseconds.
  private static func age(of moment: Duration, at now: Duration) -> Int64 {
    let tick = 4_000_000.0
    return Int64((now / .nanoseconds(1) / tick).rounded(.down) - (moment / .nanoseconds(1) / tick).rounded(.down))
      * Int64(tick)
  }
}

/// Scans, an indicator and connections on a clock that the test moves.
struct ConnectionScript {
  var connections: [ScriptedConnection] = []
  var machine: ConnectionActivity
  private(set) var indicator = ActivityMachine()
  private(set) var now: Duration = .zero
  private(set) var scans: [Duration] = []
  /// The times at which the indicator was shown; `hidden` has those at which it was hidden.
  private(set) var shown: [Duration] = []
  private(set) var hidden: [Duration] = []
  private(set) var counts: [Int] = []
  /// The cookies of connections whose program does not count.
  var ignored: Set<UInt64> = []

  init(_ rules: ConnectionRules = .init()) { machine = ConnectionActivity(rules) }

  mutating func watch() { perform(machine.handle(.watched, at: now)) }
  mutating func rest() { perform(machine.handle(.unwatched, at: now)) }

  mutating func run(until end: Duration) {
    while let next = [machine.deadline, indicator.deadline].compactMap({ $0 }).min(), next <= end {
      now = max(now, next)
      if let deadline = machine.deadline, deadline <= now { perform(machine.handle(.timerFired, at: now)) }
      if let deadline = indicator.deadline, deadline <= now { tell(.timerFired, now) }
    }
    now = end
  }

  private mutating func perform(_ effects: ConnectionActivity.Effects) {
    if let change = effects.change {
      let before = counts.last ?? 0
      counts.append(change.count)
      if before == 0 { tell(.busy, change.date) } else if change.count == 0 { tell(.idle, change.date) }
    }
    guard let scan = effects.scan else { return }
    scans.append(now)
    for connection in connections {
      if let facts = connection.facts(at: now) { machine.see(facts, at: Int64(now / .nanoseconds(1))) }
    }
    var unidentified: [UInt64] = []
    machine.forEachUnidentified { cookie, _ in unidentified.append(cookie) }
    for cookie in unidentified { machine.identify(cookie, isIgnored: ignored.contains(cookie)) }
    perform(machine.handle(.scanEnded(scan, isWhole: true), at: now))
    if let deadline = indicator.deadline { machine.hasten(for: deadline, at: now) }
  }

  private mutating func tell(_ event: ActivityMachine.Event, _ moment: Duration) {
    guard let isVisible = indicator.handle(event, at: moment).visibility else { return }
    if isVisible { shown.append(now) } else { hidden.append(now) }
  }
}
