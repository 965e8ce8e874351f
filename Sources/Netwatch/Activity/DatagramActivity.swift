/// Decides whether programs exchange datagrams as in a download, such as QUIC. Pure: counters go in, requests come out.
///
/// An estimate: the kernel counts the datagrams of a network namespace, not those of a socket. They count as one request
/// while they flow and a socket exists that they could belong to.
///
/// ```
///            flows              flows again
///   resting ------> undecided -------------> inFlight
///     ^  ^              | quiet                  | quiet: at once while it is young, else after a lull
///     |  +--------------+                        |
///     +------------------------------------------+
/// ```
package struct DatagramActivity: Sendable {
  /// The counters of a sample. Each counts from an arbitrary beginning.
  package struct Counters: Hashable, Sendable {
    /// The counters of one direction.
    package struct Flow: Hashable, Sendable {
      /// The UDP datagrams of the namespace, including those within the machine.
      package var datagrams: UInt64 = 0
      /// The packets of all tunnels. Each of them may be a UDP datagram outside its tunnel.
      package var tunnelPackets: UInt64 = 0
      /// The bytes of the link that carries the traffic.
      package var linkBytes: UInt64 = 0

      package init() {}
    }

    package var received = Flow()
    package var sent = Flow()
    /// The links whose counters these are: the one that carries the traffic, if it is known, and the tunnels.
    package var link: Int32?
    package var tunnels: [Int32] = []

    package init() {}
  }

  /// Fewer datagrams per second are keep-alives, name lookups, clocks and announcements.
  private static let fewestDatagrams = 16.0
  /// With fewer bytes of the link per datagram they are keep-alives too, or stay within the machine. A download has 1,200 and
  /// more.
  private static let leastSize: UInt64 = 400
  /// A flow that has lasted this long (`settled`) may pause for a while (`lull`). Before that, a pause ends it: a short
  /// request is not shown.
  private static let settled = Duration.seconds(1)
  private static let lull = Duration.milliseconds(450)

  private enum State {
    case resting
    /// One sample has shown a flow. Programs may have read late what came before, so the next sample decides.
    case undecided(since: Duration)
    /// `seen`: the time of the last sample that has shown the flow.
    case inFlight(since: Duration, seen: Duration)
  }

  private var last: (counters: Counters, time: Duration)?
  private var state = State.resting

  package init() {}

  /// The number of requests in flight: none, or one for all.
  package var count: Int { if case .inFlight = state { 1 } else { 0 } }

  /// Takes a sample.
  ///
  /// - Returns: Whether datagrams flow. Report to ``conclude(_:at:)`` whether they count.
  package mutating func measure(_ counters: Counters, at now: Duration) -> Bool {
    defer { last = (counters, now) }
    guard let last, last.time < now else { return false }
    let seconds = (now - last.time) / .seconds(1)
    // Tunnels that appear or vanish change the sum of the counters.
    guard counters.tunnels == last.counters.tunnels else { return false }
    let knowsBytes = counters.link != nil && counters.link == last.counters.link
    func flows(_ new: Counters.Flow, _ old: Counters.Flow) -> Bool {
      guard new.datagrams >= old.datagrams, new.tunnelPackets >= old.tunnelPackets else { return false }
      let (datagrams, packets) = (new.datagrams - old.datagrams, new.tunnelPackets - old.tunnelPackets)
      guard datagrams > packets else { return false }
      let own = datagrams - packets
      // Tunnels that merge or split packets count slightly more or fewer packets than there were datagrams.
      guard Double(own) / seconds >= Self.fewestDatagrams, own >= packets / 2 else { return false }
      guard knowsBytes else { return true }
      return new.linkBytes >= old.linkBytes && (new.linkBytes - old.linkBytes) / own >= Self.leastSize
    }
    return flows(counters.received, last.counters.received) || flows(counters.sent, last.counters.sent)
  }

  /// Takes the result of a sample.
  ///
  /// - Parameter isFlowing: Whether datagrams flow and a socket exists that they could belong to.
  /// - Returns: The new number of requests with its date. Nil if the number is the same.
  package mutating func conclude(_ isFlowing: Bool, at now: Duration) -> ConnectionActivity.Change? {
    let before = state
    state = next(isFlowing, at: now)
    return switch (before, state) {
    case (.undecided, .inFlight(let since, _)): .init(count: 1, date: since)
    case (.inFlight(_, let seen), .resting): .init(count: 0, date: seen)
    default: nil
    }
  }

  private func next(_ isFlowing: Bool, at now: Duration) -> State {
    switch (state, isFlowing) {
    case (.resting, true): .undecided(since: now)
    case (.undecided(let since), true), (.inFlight(let since, _), true): .inFlight(since: since, seen: now)
    case (.inFlight(let since, let seen), false) where seen - since >= Self.settled && now - seen < Self.lull: state
    case (_, false): .resting
    }
  }

  /// Forgets everything, because nobody watches any more.
  package mutating func forget(at now: Duration) -> ConnectionActivity.Change? {
    last = nil
    defer { state = .resting }
    return count == 0 ? nil : .init(count: 0, date: now)
  }
}
