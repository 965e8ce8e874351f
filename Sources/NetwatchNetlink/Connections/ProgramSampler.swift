import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Measures the traffic of programs, by running a ``ProgramMeter`` on the kernel's data. It lists connections at each look, and
/// reads the ends of connections in between.
///
/// The sampler belongs to the thread of its loop. It is subscribed to the ends of connections as long as it exists.
package final class ProgramSampler {
  /// The longest search of /proc after a look. Programs that are not found then are searched for after the next look.
  private static let searchTime = Duration.milliseconds(100)
  /// The time between two reads of ends if there are few. It is shorter if the buffer has little room, because 3,000 ends may
  /// come in a second without warning.
  private static let longestPause = Duration.milliseconds(250)
  private static let suddenRate = 3_000.0
  private static let shortestPause = Duration.milliseconds(5)

  private let failed: (SystemError) -> Void
  private let connections: NamespaceConnections
  private let counters: LinkCounters
  private let owners: SocketOwners
  private var meter: ProgramMeter
  private var activity: ConnectionActivity
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in readEndsInTime() }
  private let loop: EventLoop
  private let longestPause: Duration
  private var pause: Duration
  private var timing = ScanTiming.fromEnvironment()
  /// The new connections that no program held at the last search.
  private var unfound: Set<UInt64> = []
  /// The user whose programs can be seen; nil for every user.
  private let user: UInt32?

  /// Creates a sampler and subscribes to the ends of connections.
  ///
  /// - Parameters:
  ///   - grouping: What a row of the figures stands for.
  ///   - failed: The closure that is called when the kernel no longer reports ends.
  /// - Throws: A `SystemError` if the sockets cannot be opened.
  package init(
    on loop: EventLoop, by grouping: ProgramFigures.Grouping, failed: @escaping (SystemError) -> Void
  ) throws(SystemError) {
    self.loop = loop
    owners = SocketOwners(isTold: true, findsUnits: grouping == .unit)
    meter = ProgramMeter(by: grouping)
    self.failed = failed
    // The interval is shorter than the time between two looks, so that each look also counts for the activity.
    var rules = ConnectionRules()
    rules.interval = .milliseconds(100)
    activity = ConnectionActivity(rules)
    user = geteuid() == 0 ? nil : geteuid()
    connections = try NamespaceConnections()
    longestPause = min(Self.longestPause, .seconds(Double(connections.capacity) / Self.suddenRate))
    pause = longestPause
    counters = try LinkCounters()
    timer.set(after: pause)
  }

  /// Looks at every connection, and returns the figures since the first look.
  ///
  /// - Parameter links: The links that carry the traffic.
  package func sample(over links: [(index: Int32, name: InterfaceName)]) throws(SystemError) -> ProgramFigures {
    timing?.begin()
    let began = EventTimestamp.now(for: .sampling)
    try lookAtConnections()
    // The last bytes of connections that have ended meanwhile are known now.
    _ = try readEnds()
    identify()
    rename()
    meter.setInFlight(activity.cookies)
    timing?.end(inFlight: activity.count)
    let traffic = LinkTraffic(sumOf: links.compactMap { counters.sample($0.index, $0.name)?.traffic })
    return meter.figures(
      at: .nanoseconds(began.monotonic), suspended: .nanoseconds(began.suspended), link: traffic)
  }

  private func lookAtConnections() throws(SystemError) {
    let now = loop.now
    meter.beginLook(at: now)
    let number = activity.handle(activity.deadline == nil ? .watched : .timerFired, at: now).scan
    try connections.update(at: now)
    let isWhole = try connections.readAll { connection in
      meter.see(connection.facts)
      activity.see(connection.facts, at: now.nanoseconds)
      timing?.connections += 1
    }
    meter.endLook(isWhole: isWhole)
    if let number { _ = activity.handle(.scanEnded(number, isWhole: isWhole), at: loop.now) }
  }

  // MARK: Ends

  private func readEndsInTime() {
    do throws(SystemError) {
      let count = try readEnds()
      // The next read comes before a third of the buffer is filled.
      let wanted = pause * (Double(connections.capacity) / 3 / Double(max(count, 1)))
      pause = min(max(wanted, Self.shortestPause), longestPause)
      timer.set(after: pause)
    } catch {
      failed(error)
    }
  }

  private func readEnds() throws(SystemError) -> Int {
    let now = loop.now
    return try connections.readEnds(overrun: { meter.loseEnds() }) { connection in
      if let inode = meter.end(connection.facts, at: now) { owners.release(inode) }
    }
  }

  // MARK: Programs

  /// Gives processes the names that they have now: a program can change its name, and become another by execve().
  private func rename() {
    for process in meter.processes {
      guard let name = SocketOwners.name(of: process.id), name != process.name,
        SocketOwners.start(of: process.id) == process.start
      else { continue }
      meter.rename(process, to: name)
    }
  }

  /// Finds the programs of new connections. Those of other users are not searched for, because an ordinary user may not see the
  /// sockets of their programs.
  private func identify() {
    var unidentified: [UInt64: UInt32] = [:]
    var foreign: [UInt64] = []
    meter.forEachUnidentified { cookie, inode, owner in
      if owner == user ?? owner { unidentified[cookie] = inode } else { foreign.append(cookie) }
    }
    for cookie in foreign { meter.identify(cookie, as: nil) }
    var missing: Set<UInt64> = []
    defer { unfound = missing }
    guard !unidentified.isEmpty else { return }
    owners.find(unidentified.values, within: Self.searchTime)
    for (cookie, inode) in unidentified {
      switch owners.owner(of: inode) {
      case .process(let process): meter.identify(cookie, as: process)
      // The program may have closed the connection meanwhile. Then its end is reported before the next look.
      case .unknown where unfound.contains(cookie): meter.identify(cookie, as: nil)
      case .unknown: missing.insert(cookie)
      case nil: break
      }
    }
  }
}
