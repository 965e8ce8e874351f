import Glibc
import Netwatch
import NetwatchEventLoop

/// Runs a ``ConnectionActivity`` on the kernel: looks while somebody watches, and tells how many TCP connections are in
/// flight.
///
/// Belongs to its loop, which does other work between the parts of a look.
package final class ConnectionCounter {
  package struct Configuration: Hashable, Sendable {
    package var rules = ConnectionRules()
    package var exclusions: [ConnectionExclusion] = []

    package init() {}
  }

  package struct Handlers {
    /// Another number is in flight.
    let changed: (ConnectionActivity.Change) -> Void
    /// When the indicator decides next; a look is over then.
    let decision: () -> Duration?
    /// The kernel does not tell. Nothing is counted any more.
    let failed: (NetlinkError) -> Void

    package init(
      changed: @escaping (ConnectionActivity.Change) -> Void, decision: @escaping () -> Duration?,
      failed: @escaping (NetlinkError) -> Void
    ) {
      self.changed = changed
      self.decision = decision
      self.failed = failed
    }
  }

  /// /proc is searched for so long at a time.
  private static let searchTime = Duration.milliseconds(2)

  private let loop: EventLoop
  private let handlers: Handlers
  private let exclusions: [ConnectionExclusion]
  private let ignoredPrograms: Set<String>
  private let look: ConnectionLook
  private let owners = SocketOwners()
  private var machine: ConnectionActivity
  private var registration: EventLoop.Registration?
  private var timer: EventLoop.Timer?
  private var timing = LookTiming.fromEnvironment()
  private var isReading = false
  /// What the look has found, while programs are searched for.
  private var unidentified: (isWhole: Bool, next: EventLoop.Timer?)?
  private var whenLooked: [() -> Void] = []

  package init(_ configuration: Configuration, on loop: EventLoop, handlers: Handlers) throws {
    self.loop = loop
    self.handlers = handlers
    exclusions = configuration.exclusions
    ignoredPrograms = Set(
      configuration.exclusions.compactMap { if case .program(let name) = $0 { name } else { nil } })
    machine = ConnectionActivity(configuration.rules)
    look = try ConnectionLook()
    registration = try loop.watch(look.socket.descriptor, for: .readable) { [unowned self] _ in read() }
  }

  deinit {
    if let registration { loop.remove(registration) }
    if let timer { loop.cancel(timer) }
    if let next = unidentified?.next { loop.cancel(next) }
  }

  /// Programs whose connections do not count, if it cannot be seen which connections those are; empty if all is well.
  package var unseenPrograms: [String] {
    ignoredPrograms.isEmpty || SocketOwners.canSeePrograms ? [] : ignoredPrograms.sorted()
  }

  // MARK: Watching

  /// Begins to look.
  package func watch() { perform(.watched) }

  /// Nobody wants to know any more: nothing wakes us.
  package func rest() {
    finishLooking()
    perform(.unwatched)
  }

  /// Looks, and returns when it is done.
  package func lookNow() {
    watch()
    finishLooking()
  }

  /// Calls `body` when there has been a look: now, or when the one that is under way is over.
  package func whenLooked(_ body: @escaping () -> Void) {
    watch()
    if machine.isLooking { whenLooked.append(body) } else { body() }
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

  // MARK: Looking

  private func perform(_ event: ConnectionActivity.Event) {
    let effects = machine.handle(event, at: KernelClock.monotonic.now)
    if let change = effects.change { handlers.changed(change) }
    if case .lookEnded = event, let moment = handlers.decision() {
      _ = machine.hasten(for: moment, at: KernelClock.monotonic.now)
    }
    arm()
    if effects.looks { begin() }
  }

  private func arm() {
    if let timer { loop.cancel(timer) }
    timer = machine.deadline.map { deadline in
      loop.schedule(at: deadline) { [unowned self] in
        timer = nil
        perform(.timerFired)
      }
    }
  }

  private func begin() {
    timing?.begin()
    do throws(NetlinkError) {
      try look.begin()
      isReading = true
    } catch {
      fail(error)
    }
    timing?.endPart()
  }

  private func finishLooking() {
    while isReading { read() }
    while unidentified != nil { identify() }
  }

  private func read() {
    timing?.beginPart()
    let now = KernelClock.monotonic.nanoseconds
    do throws(NetlinkError) {
      let step = try look.step { connection in
        if !exclusions.contains(where: { $0.covers(connection) }) { machine.see(connection.facts, at: now) }
        timing?.connections += 1
      }
      timing?.endPart()
      if case .ended(let isWhole) = step { end(isWhole: isWhole) }
    } catch {
      fail(error)
    }
  }

  private func end(isWhole: Bool) {
    isReading = false
    if !ignoredPrograms.isEmpty {
      unidentified = (isWhole, nil)
      return identify()
    }
    conclude(isWhole: isWhole)
  }

  private func conclude(isWhole: Bool) {
    perform(.lookEnded(isWhole: isWhole))
    timing?.end(inFlight: machine.count)
    tellWaiting()
  }

  private func tellWaiting() {
    let bodies = whenLooked
    whenLooked = []
    for body in bodies { body() }
  }

  /// Looks for the programs of what would count, a while at a time; the look ends when they are known.
  private func identify() {
    guard let (isWhole, next) = unidentified else { return }
    if let next { loop.cancel(next) }
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
      conclude(isWhole: isWhole)
    } else {
      unidentified?.next = loop.schedule(at: KernelClock.monotonic.now) { [unowned self] in identify() }
    }
  }

  private func fail(_ error: NetlinkError) {
    isReading = false
    switch error.code {
    case ENOBUFS, ENOMEM, EAGAIN, EBUSY, EINTR: perform(.lookEnded(isWhole: false))
    default:
      perform(.unwatched)
      handlers.failed(error)
    }
    tellWaiting()
  }
}
