import Glibc
import Netwatch
import NetwatchEventLoop

/// Runs a ``ConnectionActivity`` on the kernel: scans while somebody watches, hears of ends while something is in flight, and
/// tells how many TCP connections are.
///
/// Belongs to its loop, which does other work between the parts of a scan.
package final class ConnectionCounter {
  package struct Configuration: Hashable, Sendable {
    package var rules = ConnectionRules()
    package var exclusions: [ConnectionExclusion] = []

    package init() {}
  }

  /// /proc is searched for so long at a time.
  private static let searchTime = Duration.milliseconds(2)
  /// Ends are read so often at most, however many connections close on the machine.
  private static let endsPause = Duration.milliseconds(10)

  private let loop: EventLoop
  private let changed: (ConnectionActivity.Change) -> Void
  private let decision: () -> Duration?
  private let failed: (NetlinkError) -> Void
  private let exclusions: [ConnectionExclusion]
  private let ignoredPrograms: Set<String>
  private let scan: ConnectionScan
  private let owners = SocketOwners()
  private var machine: ConnectionActivity
  private var registration: EventLoop.Registration?
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in perform(.timerFired) }
  private lazy var search = LoopTimer(on: loop) { [unowned self] in identify() }
  private var timing = ScanTiming.fromEnvironment()
  /// The scan that is read.
  private var reading: ConnectionActivity.Scan?
  /// The scan that has been read, while programs are searched for.
  private var unidentified: (scan: ConnectionActivity.Scan, isWhole: Bool)?
  private var afterScan: [() -> Void] = []
  /// Nil while nobody needs to hear of ends.
  private var ends: ConnectionEnds?
  private var endsRegistration: EventLoop.Registration?
  private lazy var endsTimer = LoopTimer(on: loop) { [unowned self] in hearEnds() }

  /// - Parameters:
  ///   - changed: is called when another number is in flight, or one has come and gone.
  ///   - decision: says when the indicator decides next; a scan is over then.
  ///   - failed: is called when the kernel does not tell. Nothing is counted any more.
  package init(
    _ configuration: Configuration, on loop: EventLoop, changed: @escaping (ConnectionActivity.Change) -> Void,
    decision: @escaping () -> Duration?, failed: @escaping (NetlinkError) -> Void
  ) throws {
    self.loop = loop
    self.changed = changed
    self.decision = decision
    self.failed = failed
    exclusions = configuration.exclusions
    ignoredPrograms = ConnectionExclusion.programs(exclusions)
    machine = ConnectionActivity(configuration.rules)
    scan = try ConnectionScan()
    registration = try loop.watch(scan.descriptor, for: .readable) { [unowned self] _ in read() }
  }

  deinit {
    if let registration { loop.remove(registration) }
    stopHearing()
  }

  /// Programs whose connections do not count, if it cannot be seen which connections those are; empty if all is well.
  package var unseenPrograms: [String] {
    ignoredPrograms.isEmpty || SocketOwners.canSeePrograms ? [] : ignoredPrograms.sorted()
  }

  // MARK: Watching

  /// Begins to scan.
  package func watch() { perform(.watched) }

  /// Nobody wants to know any more: nothing wakes us.
  package func rest() {
    finishScan()
    perform(.unwatched)
  }

  /// Scans, and returns when it is done.
  package func scanNow() {
    watch()
    finishScan()
  }

  /// Calls `body` when there has been a scan: now, or when the one that is under way is over.
  package func afterScan(_ body: @escaping () -> Void) {
    watch()
    if machine.isScanning { afterScan.append(body) } else { body() }
  }

  /// Programs with connections in flight, as far as this user may know, those with most of them first. Those that are not found
  /// in time are left out.
  package func programs(within time: Duration) -> [(name: String, connections: Int)] {
    let inodes = machine.inodes
    owners.find(inodes, within: time)
    var counts: [String: Int] = [:]
    for inode in inodes {
      if case .program(let name) = owners.owner(of: inode) { counts[name, default: 0] += 1 }
    }
    return counts.map { (name: $0.key, connections: $0.value) }
      .sorted { ($1.connections, $0.name) < ($0.connections, $1.name) }
  }

  // MARK: Scanning

  private func perform(_ event: ConnectionActivity.Event) {
    var next: ConnectionActivity.Event? = event
    while let event = next {
      next = nil
      let effects = machine.handle(event, at: KernelClock.monotonic.now)
      if let change = effects.change { changed(change) }
      if case .scanEnded = event { hasten() }
      timer.set(at: machine.deadline)
      followEnds()
      if let number = effects.scan { next = begin(number) }
    }
  }

  private func hasten() {
    if let moment = decision() { _ = machine.hasten(for: moment, at: KernelClock.monotonic.now) }
  }

  /// - Returns: the end of the scan, if the kernel refuses it.
  private func begin(_ number: ConnectionActivity.Scan) -> ConnectionActivity.Event? {
    timing?.begin()
    defer { timing?.endPart() }
    // What the scan lists may have ended by then: ends are read behind it.
    stopHearing()
    do throws(NetlinkError) {
      try scan.begin()
      reading = number
      return nil
    } catch {
      return end(number, of: error)
    }
  }

  private func finishScan() {
    while reading != nil { read() }
    while unidentified != nil { identify() }
  }

  private func read() {
    guard let number = reading else { return }
    timing?.beginPart()
    let now = KernelClock.monotonic.nanoseconds
    do throws(NetlinkError) {
      let reply = try scan.read { connection in
        if !exclusions.contains(where: { $0.covers(connection) }) { machine.see(connection.facts, at: now) }
        timing?.connections += 1
      }
      timing?.endPart()
      if reply.isOver { end(number, isWhole: reply.isWhole) }
    } catch {
      perform(end(number, of: error))
      tellWaiting()
    }
  }

  private func end(_ number: ConnectionActivity.Scan, isWhole: Bool) {
    reading = nil
    readEnds()
    if !ignoredPrograms.isEmpty {
      unidentified = (number, isWhole)
      return identify()
    }
    conclude(number, isWhole: isWhole)
  }

  private func conclude(_ number: ConnectionActivity.Scan, isWhole: Bool) {
    perform(.scanEnded(number, isWhole: isWhole))
    timing?.end(inFlight: machine.count)
    tellWaiting()
  }

  private func tellWaiting() {
    let bodies = afterScan
    afterScan = []
    for body in bodies { body() }
  }

  /// Looks for the programs of what would count, a while at a time; the scan ends when they are known.
  private func identify() {
    guard let (number, isWhole) = unidentified else { return }
    search.stop()
    var strangers: [UInt64: UInt32] = [:]
    machine.forEachStranger { strangers[$0] = $1 }
    owners.find(strangers.values, within: Self.searchTime)
    var isComplete = true
    for (cookie, inode) in strangers {
      switch owners.owner(of: inode) {
      case .program(let name): machine.identify(cookie, isIgnored: ignoredPrograms.contains(name))
      case .unknown: machine.identify(cookie, isIgnored: false)
      case nil: isComplete = false
      }
    }
    if isComplete {
      unidentified = nil
      conclude(number, isWhole: isWhole)
    } else {
      search.set(after: .zero)
    }
  }

  private func end(_ number: ConnectionActivity.Scan, of error: NetlinkError) -> ConnectionActivity.Event {
    reading = nil
    switch error.code {
    case ENOBUFS, ENOMEM, EAGAIN, EBUSY, EINTR: return .scanEnded(number, isWhole: false)
    default:
      failed(error)
      return .unwatched
    }
  }

  // MARK: Ends

  /// Hears of ends while something is in flight, or the indicator is about to decide. Where the kernel does not tell of them,
  /// the next scan shows them.
  private func followEnds() {
    guard machine.isWatched, machine.count > 0 || decision() != nil else {
      stopHearing()
      ends = nil
      return
    }
    if ends == nil { ends = try? ConnectionEnds() }
    if endsRegistration == nil, endsTimer.deadline == nil { hearEnds() }
  }

  private func hearEnds() {
    guard let ends, reading == nil else { return }
    endsRegistration = try? loop.watch(ends.descriptor, for: .readable) { [unowned self] _ in readEnds() }
  }

  private func stopHearing() {
    if let endsRegistration { loop.remove(endsRegistration) }
    endsRegistration = nil
    endsTimer.stop()
  }

  private func readEnds() {
    guard let ends else { return }
    stopHearing()
    let now = KernelClock.monotonic.now
    var change: ConnectionActivity.Change?
    // What is lost, the next scan shows.
    _ = try? ends.read(overrun: {}) { connection in
      if exclusions.contains(where: { $0.covers(connection) }) { return }
      change = machine.end(connection.facts, mayBeNew: ignoredPrograms.isEmpty, at: now) ?? change
    }
    endsTimer.set(after: Self.endsPause)
    guard let change else { return }
    changed(change)
    hasten()
    timer.set(at: machine.deadline)
  }
}
