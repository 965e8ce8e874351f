/// Decides which TCP connections have a request in flight, and when to scan them again. Pure: the results of scans go in,
/// scans, timers and counts come out.
///
/// ```
///            watched                scanEnded
///   at rest ---------> scanning <---------------> waiting for the next scan
///      ^                  |        timerFired         |
///      +------------------+---------------------------+ unwatched
/// ```
package struct ConnectionActivity: Sendable {
  /// The number of a scan.
  package typealias Scan = UInt32

  package enum Event: Hashable, Sendable {
    /// Somebody watches from now on.
    case watched
    /// Nobody watches any more.
    case unwatched
    case timerFired
    /// A scan has ended. `isWhole`: false if open connections may be missing.
    case scanEnded(Scan, isWhole: Bool)
  }

  /// The actions to take.
  package struct Effects: Hashable, Sendable {
    /// The scan to make: call ``ConnectionActivity/see(_:at:)`` for each connection, then handle `scanEnded`.
    package var scan: Scan?
    /// Whether ``ConnectionActivity/deadline`` has changed.
    package var setsTimer = false
    package var change: Change?
  }

  /// A new number of connections in flight. The number can be the same if one has come and gone between two scans.
  package struct Change: Hashable, Sendable {
    package let count: Int
    /// The time of the change: that of the first beginning, or of the last end.
    package let date: Duration
  }

  private enum State {
    /// Nobody watches.
    case atRest
    /// `begin`: the time at which the scan began, in nanoseconds.
    case scanning(Scan, begin: Int64)
    case waiting(until: Duration)
  }

  /// The number of connections in flight.
  package private(set) var count = 0
  private let rules: ConnectionRules
  private let patience: Int64
  private var state = State.atRest
  private var connections: [UInt64: ConnectionMemory] = [:]
  private var gone: [UInt64] = []
  private var lastScan: Scan = 0
  /// The time at which the scan before this one began. Nil if there was none.
  private var lastBegin: Int64?
  private var busyAt: Int64 = 0
  /// The time at which the first of those in flight may be at rest, or one at rest has waited long enough to be in flight.
  private var quietAt = Int64.max

  package init(_ rules: ConnectionRules = .init()) {
    self.rules = rules
    patience = rules.patience.nanoseconds
  }

  /// The time at which `timerFired` is due.
  package var deadline: Duration? { if case .waiting(let deadline) = state { deadline } else { nil } }
  package var isScanning: Bool { if case .scanning = state { true } else { false } }
  package var isWatched: Bool { if case .atRest = state { false } else { true } }

  package mutating func handle(_ event: Event, at now: Duration) -> Effects {
    let old = deadline
    var effects = Effects()
    switch (state, event) {
    case (.atRest, .watched):
      busyAt = now.nanoseconds
      effects.scan = beginScan(at: now)
    case (.waiting(let deadline), .timerFired) where deadline <= now:
      effects.scan = beginScan(at: now)
    case (.scanning(let scan, let begin), .scanEnded(let ended, let isWhole)) where ended == scan:
      effects.change = conclude(scan, isWhole: isWhole, at: now)
      lastBegin = begin
      state = .waiting(until: nextScan(after: begin, at: now))
    case (_, .unwatched):
      effects.change = forget(at: now)
    case (.atRest, _), (.scanning, _), (.waiting, _): break
    }
    effects.setsTimer = deadline != old
    return effects
  }

  /// Takes what the scan reports about one connection.
  ///
  /// - Parameter now: The time of the kernel's answer, in nanoseconds.
  package mutating func see(_ facts: ConnectionFacts, at now: Int64) {
    guard case .scanning(let scan, _) = state else { return }
    // In place: copying the whole table for each connection would make a scan take seconds.
    connections[facts.cookie, default: ConnectionMemory()]
      .update(with: facts, at: now, scan: scan, lastScan: lastBegin, patience: patience)
  }

  /// Takes the kernel's last report about a connection. Call this between scans, or when the scan has seen everything.
  ///
  /// - Parameter mayBeNew: Whether a connection that no scan has seen counts as a request that has passed.
  package mutating func end(_ facts: ConnectionFacts, mayBeNew: Bool, at now: Duration) -> Change? {
    guard isWatched else { return nil }
    if let memory = connections.removeValue(forKey: facts.cookie) {
      guard memory.isCounted else { return nil }
      count -= 1
    } else {
      // Bytes have just moved on it, so it was not closed long after its last response.
      guard mayBeNew, let idle = facts.idleAge, idle <= ConnectionRules.quiet else { return nil }
    }
    return Change(count: count, date: now)
  }

  /// Makes the next scan early enough that its result is fresh when the indicator decides at `moment`.
  package mutating func hasten(for moment: Duration, at now: Duration) {
    let wanted = moment - .nanoseconds(ConnectionRules.lead)
    guard let deadline, wanted > now, wanted < deadline else { return }
    state = .waiting(until: wanted)
  }

  // MARK: Owners

  /// Calls `body` with each connection that would count but whose program is not known yet. Call this before `scanEnded`.
  package func forEachUnidentified(_ body: (_ cookie: UInt64, _ inode: UInt32) -> Void) {
    for (cookie, memory) in connections where memory.isInFlight && memory.isIgnored == nil {
      body(cookie, memory.inode)
    }
  }

  /// Sets whether a connection belongs to a program that does not count.
  package mutating func identify(_ cookie: UInt64, isIgnored: Bool) { connections[cookie]?.isIgnored = isIgnored }

  /// The inodes of the counted sockets.
  package var inodes: [UInt32] { connections.values.lazy.filter(\.isCounted).map(\.inode) }

  /// The cookies of the counted connections.
  package var cookies: [UInt64] { connections.lazy.filter(\.value.isCounted).map(\.key) }

  // MARK: Scans

  private mutating func beginScan(at now: Duration) -> Scan {
    lastScan &+= 1
    state = .scanning(lastScan, begin: now.nanoseconds)
    return lastScan
  }

  private mutating func forget(at now: Duration) -> Change? {
    connections = [:]
    state = .atRest
    lastBegin = nil
    defer { count = 0 }
    return count > 0 ? Change(count: 0, date: now) : nil
  }

  private mutating func conclude(_ scan: Scan, isWhole: Bool, at now: Duration) -> Change? {
    let before = count
    var (began, ended) = (Int64.max, Int64.min)
    quietAt = .max
    var place = connections.values.startIndex
    while place != connections.values.endIndex {
      switch connections.values[place].conclude(scan, isWhole: isWhole) {
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

  private mutating func nextScan(after begin: Int64, at now: Duration) -> Duration {
    let interval = rules.interval.nanoseconds
    var next = begin + interval
    if count > 0 {
      busyAt = begin
      // An end only shows in the scan after it, so scans are slightly more frequent while requests run, and come when an end
      // may be due.
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
  /// The duration in whole nanoseconds, rounded toward zero.
  fileprivate var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }
}
