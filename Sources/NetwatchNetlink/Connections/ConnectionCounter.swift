import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Counts the TCP connections that are in flight, by running a ``ConnectionActivity`` on the kernel's data. It scans while the
/// count is wanted, and receives the ends of connections while something is in flight.
///
/// The counter belongs to the thread of its loop. The loop does other work between the parts of a scan.
package final class ConnectionCounter {
  /// The rules of a counter, and the connections that do not count.
  package struct Configuration: Hashable, Sendable {
    /// The rules by which a connection counts as in flight.
    package var rules = ConnectionRules()
    /// The connections that do not count. Default: none.
    package var exclusions: [ConnectionExclusion] = []

    /// Creates a configuration with the default rules and no exclusions.
    package init() {}
  }

  /// The longest time of one turn of searching /proc.
  private static let searchTime = Duration.milliseconds(2)
  /// The shortest time between two reads of ends, however many connections close on the machine.
  private static let endsPause = Duration.milliseconds(10)

  private let loop: EventLoop
  private let changed: (ConnectionActivity.Change) -> Void
  private let decision: () -> Duration?
  private let failed: (SystemError) -> Void
  private let exclusions: [ConnectionExclusion]
  private let ignoredPrograms: Set<String>
  private let scan: ConnectionScan
  private let owners = SocketOwners()
  private var machine: ConnectionActivity
  private var registration: EventLoop.Registration?
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in perform(.timerFired) }
  private lazy var search = LoopTimer(on: loop) { [unowned self] in identify() }
  private var timing = ScanTiming.fromEnvironment()
  /// The scan that is being read.
  private var reading: ConnectionActivity.Scan?
  /// The scan that has been read and whose programs are being searched for.
  private var unidentified: (scan: ConnectionActivity.Scan, isWhole: Bool)?
  private var afterScan: [() -> Void] = []
  /// The source of ends; nil while they are not needed.
  private var ends: ConnectionEnds?
  private var endsRegistration: EventLoop.Registration?
  private lazy var endsTimer = LoopTimer(on: loop) { [unowned self] in hearEnds() }

  /// Creates a counter that does not scan yet.
  ///
  /// - Parameters:
  ///   - changed: The closure that is called when the number of connections in flight changes, or when one has come and gone.
  ///   - decision: The closure that returns when the indicator decides next. A scan is finished by then. Nil if no decision is
  ///     due.
  ///   - failed: The closure that is called when the kernel refuses the scan. Nothing is counted any more.
  /// - Throws: An error if the socket for the scan cannot be opened or watched.
  package init(
    _ configuration: Configuration, on loop: EventLoop, changed: @escaping (ConnectionActivity.Change) -> Void,
    decision: @escaping () -> Duration?, failed: @escaping (SystemError) -> Void
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
    for case let registration? in [registration, endsRegistration] { loop.remove(registration) }
  }

  /// The names of excluded programs, if this process cannot see which connections are theirs. Empty otherwise.
  package var unseenPrograms: [String] {
    ignoredPrograms.isEmpty || SocketOwners.canSeePrograms ? [] : ignoredPrograms.sorted()
  }

  // MARK: Watching

  /// Starts to scan.
  package func watch() { perform(.watched) }

  /// Stops scanning. Nothing wakes the thread any more.
  package func rest() {
    finishScan()
    perform(.unwatched)
  }

  /// Scans, and returns when the scan is finished.
  package func scanNow() {
    watch()
    finishScan()
  }

  /// Calls `body` after a scan: now if no scan is in progress, else at the end of the scan.
  package func afterScan(_ body: @escaping () -> Void) {
    watch()
    if machine.isScanning { afterScan.append(body) } else { body() }
  }

  /// Returns the programs with connections in flight, as far as this user may see them, those with most connections first.
  /// Programs that are not found within `time` are left out.
  package func programs(within time: Duration) -> [(name: String, connections: Int)] {
    let inodes = machine.inodes
    owners.find(inodes, within: time)
    var counts: [String: Int] = [:]
    for inode in inodes {
      if case .process(let process) = owners.owner(of: inode) { counts[process.name, default: 0] += 1 }
    }
    return counts.map { (name: $0.key, connections: $0.value) }
      .sorted { ($1.connections, $0.name) < ($0.connections, $1.name) }
  }

  // MARK: Scanning

  private func perform(_ event: ConnectionActivity.Event) {
    var next: ConnectionActivity.Event? = event
    while let event = next {
      next = nil
      let effects = machine.handle(event, at: loop.now)
      if let change = effects.change { changed(change) }
      if case .scanEnded = event { hasten() }
      timer.set(at: machine.deadline)
      followEnds()
      if let number = effects.scan { next = begin(number) }
    }
  }

  private func hasten() {
    if let moment = decision() { machine.hasten(for: moment, at: loop.now) }
  }

  /// Begins a scan. Returns the end of the scan if the kernel refuses it.
  private func begin(_ number: ConnectionActivity.Scan) -> ConnectionActivity.Event? {
    timing?.begin()
    defer { timing?.endPart() }
    // Connections that the scan lists may have ended by then, so ends are read after the scan.
    stopHearing()
    do throws(SystemError) {
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
    let now = loop.now.nanoseconds
    do throws(SystemError) {
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

  /// Searches for the programs of the connections that would count, for a short time at each turn. The scan ends when they are
  /// known.
  private func identify() {
    guard let (number, isWhole) = unidentified else { return }
    search.stop()
    var inodes: [UInt64: UInt32] = [:]
    machine.forEachUnidentified { inodes[$0] = $1 }
    owners.find(inodes.values, within: Self.searchTime)
    var isComplete = true
    for (cookie, inode) in inodes {
      switch owners.owner(of: inode) {
      case .process(let process): machine.identify(cookie, isIgnored: ignoredPrograms.contains(process.name))
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

  private func end(_ number: ConnectionActivity.Scan, of error: SystemError) -> ConnectionActivity.Event {
    reading = nil
    switch error.code {
    case ENOBUFS, ENOMEM, EAGAIN, EBUSY, EINTR: return .scanEnded(number, isWhole: false)
    default:
      failed(error)
      return .unwatched
    }
  }

  // MARK: Ends

  /// Receives ends while something is in flight or the indicator is about to decide. If the kernel does not report ends, the
  /// next scan shows them.
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
    let now = loop.now
    var change: ConnectionActivity.Change?
    // Ends that are lost here show in the next scan.
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
