/// Adds up what the TCP connections of each program carry. Pure: looks at the connections and their ends go in, figures come
/// out.
///
/// The order of calls makes each byte count once. A look lists the open connections. Their ends are reported after the last
/// look that still listed them. An end of an unknown connection therefore belongs to one that was in no look.
package struct ProgramMeter: Sendable {
  private struct Socket {
    var inode: UInt32
    let user: UInt32
    /// The key in `rows`. Nil until the program of the socket is known.
    var row: Int?
    /// The counters up to which the traffic has been counted.
    var counters: ProgramFigures.Traffic
    /// The traffic of the socket before its program was known.
    var unassigned = ProgramFigures.Traffic()
    /// The last look that listed the socket.
    var look: UInt32
  }

  /// The processes whose bytes are added up.
  private enum Owner: Hashable {
    case process(Int32, start: UInt64, user: UInt32)
    /// Processes that have ended.
    case ended(name: String, unit: String?, user: UInt32)
    /// Processes that cannot be inspected.
    case unknown(user: UInt32)
  }

  private struct Row {
    let owner: Owner
    /// What is known of the process; nil if it cannot be inspected.
    var process: ProgramFigures.Process?
    let user: UInt32
    var traffic = ProgramFigures.Traffic()
    /// The traffic at the last report.
    var former = ProgramFigures.Traffic()
    var inFlight = 0
    /// The number of sockets that are not settled.
    var sockets = 0
  }

  /// A connection can leave the looks long before its end is reported: after a reset, until its program closes it. If the end
  /// is lost, it is never reported.
  private static let looksUntilForgotten: UInt32 = 60
  /// At most this many sockets are kept for an end that may never be reported.
  private static let mostKept = 65_536
  /// The number of rows from which on the processes without connections are added up by name, and the largest number. Programs
  /// beyond that get no row of their own.
  private static let (manyRows, mostRows) = (1_024, 4_096)

  private var sockets: [UInt64: Socket] = [:]
  private let grouping: ProgramFigures.Grouping
  private var rows: [Int: Row] = [:]
  private var keys: [Owner: Int] = [:]
  private var nextKey = 0
  private var shortLived = ProgramFigures.Traffic()
  private var formerShortLived = ProgramFigures.Traffic()
  private var overruns: UInt64 = 0
  private var look: UInt32 = 0
  /// The times at which the last look and the one before it began. Nil before the first complete look: until then,
  /// connections that are listed are older than the count.
  private var began: Duration?
  private var beganBefore: Duration?
  private var hasBase = false
  /// The clocks at the last figures.
  private var clocks: (time: Duration, suspended: Duration)?
  private var link: LinkTraffic?
  /// All payload of TCP at the last figures.
  private var formerPayload = ProgramFigures.Traffic()
  /// The traffic of the link beyond TCP. Negative if an end was reported later than the link counted its bytes.
  private var otherReceived: Int64?
  private var otherSent: Int64?

  /// Creates a meter.
  ///
  /// - Parameter grouping: What a row of the figures stands for. Default: a program.
  package init(by grouping: ProgramFigures.Grouping = .name) { self.grouping = grouping }

  // MARK: Looks

  /// Begins a look: call ``see(_:)`` for each connection, then ``endLook(isWhole:)``.
  package mutating func beginLook(at now: Duration) {
    look &+= 1
    beganBefore = began
    began = now
  }

  /// Takes what the look reports about one connection.
  package mutating func see(_ facts: ConnectionFacts) {
    let counters = ProgramFigures.Traffic(received: facts.payloadReceived, sent: facts.payloadSent)
    if let place = sockets.index(forKey: facts.cookie) {
      let known = sockets.values[place].inode
      if known == facts.inode || known == 0 || facts.inode == 0 {
        if known == 0 { sockets.values[place].inode = facts.inode }
        sockets.values[place].look = look
        return count(counters, at: place)
      }
      // The kernel never uses a cookie twice. If it did, this would be another connection.
      settle(sockets.remove(at: place).value)
    }
    let base = hasBase ? ProgramFigures.Traffic() : counters
    var socket = Socket(inode: facts.inode, user: facts.user, counters: base, look: look)
    socket.unassigned = counters.beyond(base)
    socket.counters = counters
    sockets[facts.cookie] = socket
  }

  /// Ends a look.
  ///
  /// - Parameter isWhole: False if open connections may be missing.
  package mutating func endLook(isWhole: Bool) {
    guard isWhole else { return }
    hasBase = true
    let isCrowded = sockets.count > Self.mostKept
    for (cookie, socket) in sockets {
      let missed = look &- socket.look
      // The end of a connection that is missing for the first time may be on its way.
      if missed >= Self.looksUntilForgotten || isCrowded && missed >= 2 {
        sockets[cookie] = nil
        settle(socket)
      }
    }
    if rows.count > Self.manyRows { foldEndedRows() }
  }

  /// Adds up the rows of processes without connections by name. A process that opens another connection gets a new row.
  private mutating func foldEndedRows() {
    for (key, row) in rows where row.sockets == 0 {
      guard case .process = row.owner, let process = row.process else { continue }
      rows[key] = nil
      keys[row.owner] = nil
      let ended = ProgramFigures.Process(id: 0, start: 0, name: process.name, unit: process.unit)
      let sum = self.key(of: .ended(name: process.name, unit: process.unit, user: row.user), ended, row.user)
      rows[sum]?.traffic.add(row.traffic)
      rows[sum]?.former.add(row.former)
    }
  }

  /// Calls `body` with each connection that was in the last look and whose program is not known.
  package func forEachUnidentified(_ body: (_ cookie: UInt64, _ inode: UInt32, _ user: UInt32) -> Void) {
    for (cookie, socket) in sockets where socket.row == nil && socket.inode != 0 && socket.look == look {
      body(cookie, socket.inode, socket.user)
    }
  }

  /// Sets the process that holds a connection.
  ///
  /// - Parameter process: The process. Nil if it cannot be known.
  package mutating func identify(_ cookie: UInt64, as process: ProgramFigures.Process?) {
    guard let place = sockets.index(forKey: cookie) else { return }
    let user = sockets.values[place].user
    let key =
      process.map { self.key(of: .process($0.id, start: $0.start, user: user), $0, user) }
      ?? self.key(of: .unknown(user: user), nil, user)
    if let former = sockets.values[place].row { rows[former]?.sockets -= 1 }
    sockets.values[place].row = key
    rows[key]?.sockets += 1
    rows[key]?.traffic.add(sockets.values[place].unassigned)
    sockets.values[place].unassigned = .init()
  }

  /// The processes that hold connections.
  package var processes: Set<ProgramFigures.Process> {
    Set(rows.values.lazy.filter { $0.sockets > 0 }.compactMap(\.process))
  }

  /// Gives a process the name that it has now. All its bytes belong to that name.
  package mutating func rename(_ process: ProgramFigures.Process, to name: String) {
    for key in rows.keys where rows[key]?.process == process { rows[key]?.process?.name = name }
  }

  /// Sets which connections have a request in flight.
  package mutating func setInFlight(_ cookies: some Sequence<UInt64>) {
    for key in rows.keys { rows[key]?.inFlight = 0 }
    for cookie in cookies {
      if let key = sockets[cookie]?.row { rows[key]?.inFlight += 1 }
    }
  }

  // MARK: Ends

  /// Takes the kernel's last report about a connection.
  ///
  /// - Returns: The inode of its socket, if it was in a look.
  @discardableResult
  package mutating func end(_ facts: ConnectionFacts, at now: Duration) -> UInt32? {
    let counters = ProgramFigures.Traffic(received: facts.payloadReceived, sent: facts.payloadSent)
    if let place = sockets.index(forKey: facts.cookie) {
      count(counters, at: place)
      let socket = sockets.remove(at: place).value
      settle(socket)
      return socket.inode
    }
    // A connection that was in no look has carried something since the look before the last one. If it has been quiet for
    // longer, it was reset long ago, perhaps before the count began, and is only closed now.
    guard hasBase, let beganBefore = beganBefore ?? began else { return nil }
    let quiet = Duration.nanoseconds(min(facts.sentAge, facts.receivedAge, facts.heardAge))
    if quiet <= now - beganBefore { shortLived.add(counters) }
    return nil
  }

  /// Notes that the kernel had no room to report some ends. What those connections carried since the last look is not known.
  package mutating func loseEnds() { overruns = overruns.addingSaturated(1) }

  // MARK: Sums

  private mutating func count(_ counters: ProgramFigures.Traffic, at place: Dictionary<UInt64, Socket>.Index) {
    let known = sockets.values[place].counters
    let carried = counters.beyond(known)
    // Most connections are quiet at most looks.
    if carried.isNothing { return }
    // A connection that is reset loses its counters. They do not begin anew.
    sockets.values[place].counters = .init(
      received: max(known.received, counters.received), sent: max(known.sent, counters.sent))
    if let key = sockets.values[place].row {
      rows[key]?.traffic.add(carried)
    } else {
      sockets.values[place].unassigned.add(carried)
    }
  }

  /// Adds the traffic of a socket that is gone. If its program was not found in time, it counts as short-lived.
  private mutating func settle(_ socket: Socket) {
    shortLived.add(socket.unassigned)
    if let key = socket.row { rows[key]?.sockets -= 1 }
  }

  /// Returns the key of an owner in `rows`.
  private mutating func key(of owner: Owner, _ process: ProgramFigures.Process?, _ user: UInt32) -> Int {
    if let key = keys[owner] { return key }
    if process != nil, rows.count >= Self.mostRows { return key(of: .unknown(user: user), nil, user) }
    nextKey += 1
    keys[owner] = nextKey
    rows[nextKey] = Row(owner: owner, process: process, user: user)
    return nextKey
  }

  // MARK: Figures

  /// Returns the current figures. The next rates count from here.
  ///
  /// - Parameters:
  ///   - time: The time of the last look, on the monotonic clock.
  ///   - suspended: The time that the machine has been suspended since it was started.
  ///   - link: The counters of the link that carries the traffic. Nil if there is none.
  package mutating func figures(
    at time: Duration, suspended: Duration = .zero, link sample: LinkTraffic? = nil
  ) -> ProgramFigures {
    var passed: Duration?
    if let clocks, clocks.time < time, suspended - clocks.suspended < TrafficMeter.suspendThreshold {
      passed = time - clocks.time
    }
    clocks = (time, suspended)
    var figures = ProgramFigures()
    var sums: [ProgramFigures.Program: Row] = [:]
    for (key, row) in rows {
      let group = group(of: row)
      var sum = sums[group] ?? Row(owner: row.owner, user: row.user)
      sum.traffic.add(row.traffic)
      sum.former.add(row.former)
      sum.inFlight += row.inFlight
      sums[group] = sum
      rows[key]?.former = row.traffic
    }
    for (group, sum) in sums where sum.inFlight > 0 || !sum.traffic.isNothing {
      var program = group
      (program.traffic, program.inFlight) = (sum.traffic, sum.inFlight)
      program.traffic.setRates(since: sum.former, in: passed)
      figures.programs.append(program)
    }
    figures.shortLived = shortLived
    figures.shortLived.setRates(since: formerShortLived, in: passed)
    formerShortLived = shortLived
    figures.other = other(sample, in: passed)
    figures.overruns = overruns
    return figures
  }

  /// Returns what a row belongs to in the figures.
  private func group(of row: Row) -> ProgramFigures.Program {
    guard let process = row.process else { return .init(name: nil, user: row.user) }
    return switch grouping {
    case .name: .init(name: process.name, user: row.user)
    case .pid: .init(name: process.name, user: row.user, process: process.id > 0 ? process.id : nil)
    case .unit: .init(name: nil, user: row.user, unit: process.unit)
    }
  }

  /// Returns the traffic of the link beyond the payload of TCP.
  private mutating func other(_ sample: LinkTraffic?, in passed: Duration?) -> ProgramFigures.Traffic? {
    var payload = shortLived
    for row in rows.values { payload.add(row.traffic) }
    for socket in sockets.values { payload.add(socket.unassigned) }
    let counted = payload.beyond(formerPayload)
    formerPayload = payload
    let before = (otherReceived, otherSent)
    if let sample, let link, sample.continues(link) {
      otherReceived = Self.sum(otherReceived, sample.receivedBytes - link.receivedBytes, counted.received)
      otherSent = Self.sum(otherSent, sample.sentBytes - link.sentBytes, counted.sent)
    }
    link = sample
    guard let otherReceived, let otherSent else { return nil }
    func traffic(_ received: Int64, _ sent: Int64) -> ProgramFigures.Traffic {
      .init(received: UInt64(max(received, 0)), sent: UInt64(max(sent, 0)))
    }
    var other = traffic(otherReceived, otherSent)
    other.setRates(since: traffic(before.0 ?? 0, before.1 ?? 0), in: passed)
    return other
  }

  private static func sum(_ known: Int64?, _ carried: UInt64, _ counted: UInt64) -> Int64 {
    let (difference, overflows) = Int64(clamping: carried).subtractingReportingOverflow(Int64(clamping: counted))
    let (sum, isTooLarge) = (known ?? 0).addingReportingOverflow(overflows ? 0 : difference)
    return isTooLarge ? known ?? 0 : sum
  }
}

extension ProgramFigures.Traffic {
  /// Sets the rates since other figures.
  ///
  /// - Parameter time: The time since then. Nil if that is not known.
  fileprivate mutating func setRates(since former: Self, in time: Duration?) {
    let carried = beyond(former)
    receivedBitsPerSecond = time.map { TrafficMeter.rate(of: carried.received, in: $0) }
    sentBitsPerSecond = time.map { TrafficMeter.rate(of: carried.sent, in: $0) }
  }
}
