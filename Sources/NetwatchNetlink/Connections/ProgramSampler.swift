import Glibc
import Netwatch
import NetwatchEventLoop

/// Runs a ``ProgramMeter`` on the kernel: looks when it is told to, and reads the ends of connections in between.
///
/// Belongs to its loop. The groups that tell of ends are joined as long as this exists.
package final class ProgramSampler {
  /// /proc is searched for this long after a look. What is not found then is looked for after the next one.
  private static let searchTime = Duration.milliseconds(100)
  /// The ends are read this often if there are few, and more often if there is little room for them: 3,000 may come in a second
  /// all of a sudden.
  private static let longestPause = Duration.milliseconds(250)
  private static let suddenRate = 3_000.0
  private static let shortestPause = Duration.milliseconds(5)

  private let failed: (NetlinkError) -> Void
  private let scan: ConnectionScan
  private let ends: ConnectionEnds
  private let counters: LinkCounters
  private let owners = SocketOwners(isTold: true)
  private var meter = ProgramMeter()
  private var activity: ConnectionActivity
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in readEndsInTime() }
  private let loop: EventLoop
  private let longestPause: Duration
  private var pause: Duration
  private var timing = ScanTiming.fromEnvironment()
  /// New connections that no program held when it was last looked for them.
  private var unfound: Set<UInt64> = []
  /// The user whose programs can be seen; nil for every user.
  private let user: UInt32?

  /// - Parameter failed: is called when the kernel does not tell any more.
  package init(on loop: EventLoop, failed: @escaping (NetlinkError) -> Void) throws(NetlinkError) {
    self.loop = loop
    self.failed = failed
    // Shorter than the time between two looks, so that each of them is one for the activity too.
    var rules = ConnectionRules()
    rules.interval = .milliseconds(100)
    activity = ConnectionActivity(rules)
    user = geteuid() == 0 ? nil : geteuid()
    // First of all: an end that comes before the first look is known to be one.
    ends = try ConnectionEnds()
    longestPause = min(Self.longestPause, .seconds(Double(ends.capacity) / Self.suddenRate))
    pause = longestPause
    scan = try ConnectionScan()
    counters = try LinkCounters()
    timer.set(after: pause)
  }

  /// Looks at every connection, and gives the figures since the first look.
  ///
  /// - Parameter link: the link that carries the traffic; nil if there is none.
  package func look(at link: (index: Int32, name: InterfaceName)?) throws(NetlinkError) -> ProgramFigures {
    timing?.begin()
    let began = Moment.now(for: .sampling)
    try lookAtConnections()
    // Those that have ended meanwhile: their last bytes are known now.
    _ = try readEnds()
    identify()
    meter.setInFlight(activity.cookies)
    timing?.end(inFlight: activity.count)
    let traffic = link.flatMap { counters.sample($0.index, $0.name)?.traffic }
    return meter.figures(
      at: .nanoseconds(began.monotonic), suspended: .nanoseconds(began.suspended), link: traffic)
  }

  private func lookAtConnections() throws(NetlinkError) {
    let now = KernelClock.monotonic.now
    meter.beginLook(at: now)
    let number = activity.handle(activity.deadline == nil ? .watched : .timerFired, at: now).scan
    let isWhole = try scan.readAll { connection in
      meter.see(connection.facts)
      activity.see(connection.facts, at: now.nanoseconds)
      timing?.connections += 1
    }
    meter.endLook(isWhole: isWhole)
    if let number { _ = activity.handle(.scanEnded(number, isWhole: isWhole), at: KernelClock.monotonic.now) }
  }

  // MARK: Ends

  private func readEndsInTime() {
    do throws(NetlinkError) {
      let count = try readEnds()
      // Before a third of the room is filled.
      let wanted = pause * (Double(ends.capacity) / 3 / Double(max(count, 1)))
      pause = min(max(wanted, Self.shortestPause), longestPause)
      timer.set(after: pause)
    } catch {
      failed(error)
    }
  }

  private func readEnds() throws(NetlinkError) -> Int {
    let now = KernelClock.monotonic.now
    return try ends.read(overrun: { meter.loseEnds() }) { connection in
      if let inode = meter.end(connection.facts, at: now) { owners.release(inode) }
    }
  }

  // MARK: Programs

  /// Finds the programs of connections that are new. Those of other users are not looked for, because an ordinary user may not
  /// see what they hold.
  private func identify() {
    var strangers: [UInt64: UInt32] = [:]
    var foreign: [UInt64] = []
    meter.forEachStranger { cookie, inode, owner in
      if owner == user ?? owner { strangers[cookie] = inode } else { foreign.append(cookie) }
    }
    for cookie in foreign { meter.identify(cookie, as: nil) }
    var missing: Set<UInt64> = []
    defer { unfound = missing }
    guard !strangers.isEmpty else { return }
    owners.find(strangers.values, within: Self.searchTime)
    for (cookie, inode) in strangers {
      switch owners.owner(of: inode) {
      case .program(let name): meter.identify(cookie, as: name)
      // The program may have closed it meanwhile: then its end is told before the next look.
      case .unknown where unfound.contains(cookie): meter.identify(cookie, as: nil)
      case .unknown: missing.insert(cookie)
      case nil: break
      }
    }
  }
}
