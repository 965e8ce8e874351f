import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// Counts what is in flight, and runs the indicator on the count: numbers go in, and changes to publish come out.
///
/// TCP connections and UDP are watched only between ``watch(_:)`` and ``rest()``. If they do not count, nothing is created for
/// them.
package final class ActivityCounter {
  /// The state of the indicator and the number in flight.
  package private(set) var activity = EventRecord.Activity()
  private let settings: ActivitySettings
  private let loop: EventLoop
  private let warn: (_ sentence: String) -> Void
  private let changed: (_ reason: EventRecord.ActivityReason, _ noticed: Duration) -> Void
  private var machine = ActivityMachine()
  private var timer: LoopTimer?
  private var connections: ConnectionCounter?
  private var datagrams: DatagramCounter?
  /// Try again to create a counter for which there was no descriptor or memory.
  private var connectionRetry: Retry?
  private var datagramRetry: Retry?
  /// Whether ``watch(_:)`` or ``watchNow()`` was called since ``rest()``.
  private var isWatched = false

  /// Creates a counter. If connections or datagrams cannot be counted, `warn` gets a sentence about it. If that is only for want
  /// of a descriptor or memory, it is tried again.
  ///
  /// - Parameters:
  ///   - settings: What is counted.
  ///   - warn: The closure that gets each sentence for people. Default: to standard error.
  ///   - path: The closure that returns the current path; nil while it is not known.
  ///   - changed: The closure that is called after each change of ``activity``, with the reason and the time at which the change
  ///     was noticed.
  package init(
    _ settings: ActivitySettings, on loop: EventLoop, warn: @escaping (_ sentence: String) -> Void = StandardError.warn,
    path: @escaping () -> NetworkPath? = { nil },
    changed: @escaping (_ reason: EventRecord.ActivityReason, _ noticed: Duration) -> Void
  ) {
    self.settings = settings
    self.loop = loop
    self.warn = warn
    self.changed = changed
    timer = LoopTimer(on: loop) { [unowned self] in fire() }
    if settings.counts.contains(.tcp) {
      connectionRetry = Retry(on: loop) { [unowned self] in countConnections() }
      connectionRetry?.begin()
    }
    if settings.counts.contains(.udp) {
      datagramRetry = Retry(on: loop) { [unowned self] in countDatagrams(path) }
      datagramRetry?.begin()
    }
  }

  /// Returns false if it has to be tried again.
  private func countConnections() -> Bool {
    do {
      connections = try ConnectionCounter(
        settings.connections, on: loop,
        changed: { [unowned self] in setConnections($0.count, at: $0.date) },
        decision: { [unowned self] in deadline },
        failed: { [unowned self] error in
          warn("TCP connections are", error)
          forgetConnections()
          release(&connections)
        })
      setConnections(0, at: loop.now)
      if isWatched { connections?.watch() }
      return true
    } catch {
      if Self.isPassing(error) { return false }
      warn("TCP connections are", error)
      return true
    }
  }

  /// Returns false if it has to be tried again.
  private func countDatagrams(_ path: @escaping () -> NetworkPath?) -> Bool {
    do {
      datagrams = try DatagramCounter(
        settings.connections.exclusions, on: loop, path: path,
        changed: { [unowned self] in setDatagrams($0.count, at: $0.date) },
        failed: { [unowned self] error in
          warn("UDP is", error)
          setDatagrams(0, at: loop.now)
          activity.datagrams = nil
          release(&datagrams)
        })
      activity.datagrams = 0
      if isWatched { datagrams?.watch() }
      return true
    } catch {
      if Self.isPassing(error) { return false }
      warn("UDP is", error)
      return true
    }
  }

  private static func isPassing(_ error: any Error) -> Bool {
    (error as? SystemError)?.isPassing ?? false
  }

  /// Releases a counter later, because its handler is still on the stack.
  private func release<Counter: AnyObject>(_ counter: inout Counter?) {
    let old = counter
    counter = nil
    loop.schedule(after: .zero) { withExtendedLifetime(old) {} }
  }

  // MARK: Numbers

  /// Sets the number of requests that programs have announced.
  ///
  /// - Parameter date: The time of the change. Actions that are due since then are performed at once. Default: now.
  package func setRequests(_ count: Int, at date: Duration? = nil) {
    guard settings.counts.contains(.requests) else { return }
    // The limits keep the sum from overflowing, whatever number a caller gives.
    let others = activity.inFlight - activity.requests
    change(to: min(max(count, 0), Int(Int32.max)) + others, at: date)
  }

  /// Sets the number of TCP connections in flight; they are counted from the first call on. An unchanged number means that one
  /// connection has come and gone, so that a visible indicator stays visible in a series of short ones.
  ///
  /// - Parameter date: The time of the change. Actions that are due since then are performed at once.
  package func setConnections(_ count: Int, at date: Duration) {
    if count == activity.connections { return linger(from: date) }
    let others = activity.inFlight - (activity.connections ?? 0)
    activity.connections = count
    change(to: others + count, at: date)
  }

  private func setDatagrams(_ count: Int, at date: Duration) {
    let others = activity.inFlight - (activity.datagrams ?? 0)
    activity.datagrams = count
    change(to: others + count, at: date)
  }

  /// Stops counting TCP connections.
  package func forgetConnections() {
    setConnections(0, at: loop.now)
    activity.connections = nil
  }

  /// Delays run from `date`. Default: from now, which is then also the time at which the change was noticed.
  private func change(to count: Int, at date: Duration?) {
    let before = activity.inFlight
    guard count != before else { return }
    let now = loop.now
    activity.inFlight = count
    if before == 0 || count == 0 { handle(count > 0 ? .busy : .idle, at: date ?? now) }
    changed(count > before ? .requestBegan : .requestEnded, now)
  }

  // MARK: The indicator

  private func linger(from date: Duration) {
    guard machine.state == .delayingEnd else { return }
    handle(.busy, at: date)
    handle(.idle, at: date)
  }

  /// The time at which the indicator decides next; nil if no decision is due.
  package var deadline: Duration? { machine.deadline }

  /// Performs the actions that are due, for a caller that wants the current state.
  package func fireDue() {
    while let deadline, deadline <= loop.now { fire() }
  }

  private func handle(_ event: ActivityMachine.Event, at date: Duration) {
    let effects = machine.handle(event, at: date)
    activity.state = machine.state
    if effects.setsTimer { timer?.set(at: machine.deadline) }
  }

  private func fire() {
    let reason: EventRecord.ActivityReason = machine.state == .delayingStart ? .activationDelay : .completionDelay
    let now = loop.now
    handle(.timerFired, at: now)
    changed(reason, now)
  }

  // MARK: Connections

  /// Starts to watch connections, and calls `body` when ``activity`` is up to date.
  package func watch(_ body: @escaping () -> Void) {
    isWatched = true
    datagrams?.watch()
    guard let connections else { return body() }
    connections.afterScan { [self] in
      fireDue()
      body()
    }
  }

  /// Watches connections, and returns when ``activity`` is up to date.
  package func watchNow() {
    isWatched = true
    datagrams?.watch()
    connections?.scanNow()
    fireDue()
  }

  /// Stops watching connections and UDP.
  package func rest() {
    isWatched = false
    connections?.rest()
    datagrams?.rest()
  }

  /// Returns the programs whose connections are in flight, as far as this user may see them and they are found within `time`.
  package func programs(within time: Duration) -> [NamedCount] {
    connections?.programs(within: time).map { NamedCount(name: $0.name, count: $0.connections) }
      ?? []
  }

  /// Reports the excluded programs if this process cannot see which connections are theirs.
  package func warnOfUnseenPrograms() {
    guard let programs = connections?.unseenPrograms, !programs.isEmpty else { return }
    warn(
      "the TCP connections of \(programs.map(\.sanitizedForTerminal).joined(separator: ", ")) count: a user namespace or /proc hides "
        + "which connections are theirs; name a port or an address with --activity-ignore instead")
  }

  private func warn(_ what: String, _ error: any Error) {
    warn("\(what) not counted, all else works: \(error)")
  }
}

/// The options of counting: `--activity` and the options that belong to it.
package struct ActivitySettings {
  /// The shortest interval. Shorter ones would only load the machine.
  static let shortestInterval = Duration.milliseconds(20)

  /// The kinds of activity that are counted. Default: announced requests.
  package var counts = ServiceIdentity.Counts.requests
  /// The rules for TCP connections, and the exclusions.
  package var connections = ConnectionCounter.Configuration()

  /// Creates the default settings.
  package init() {}

  /// Creates settings from options.
  ///
  /// - Parameters:
  ///   - counts: The kinds of activity that are counted.
  ///   - exclusions: The connections that do not count.
  ///   - interval: The time between two scans of TCP connections; nil for the default.
  ///   - patience: The time after which a waiting TCP connection counts as a long poll; nil for the default.
  ///   - dashes: The text before the names of options, as the user writes them.
  /// - Throws: A `PlainError` about options that do not fit together.
  package init(
    counts: ServiceIdentity.Counts, exclusions: [ConnectionExclusion], interval: Duration?, patience: Duration?,
    dashes: String
  ) throws(PlainError) {
    if !exclusions.isEmpty, counts.isDisjoint(with: [.tcp, .udp]) {
      throw PlainError("\(dashes)activity-ignore is about TCP connections and UDP; add \(dashes)activity tcp or udp.")
    }
    if interval != nil, !counts.contains(.tcp) {
      throw PlainError("\(dashes)activity-interval is about TCP connections; add \(dashes)activity tcp.")
    }
    if patience != nil, !counts.contains(.tcp) {
      throw PlainError("\(dashes)activity-patience is about TCP connections; add \(dashes)activity tcp.")
    }
    self.counts = counts
    connections.exclusions = exclusions
    if let interval { connections.rules.interval = interval }
    if let patience { connections.rules.patience = patience }
  }

  /// Returns a sentence for users whose service does not count what they want; nil if it does. The service's settings apply to
  /// all its clients, so that all show the same.
  func hint(besideService activity: EventRecord.Activity) -> String? {
    let lacks = [
      counts.contains(.tcp) && activity.connections == nil ? "TCP connections" : nil,
      counts.contains(.udp) && activity.datagrams == nil ? "UDP" : nil,
    ].compactMap(\.self)
    guard !lacks.isEmpty else { return nil }
    return
      "the service does not count \(lacks.joined(separator: " and ")); start it with --activity \(counts.text), or add "
      + "--no-service here"
  }
}
