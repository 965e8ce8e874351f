import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// Counts what is in flight, and runs the indicator on it: numbers go in, what to publish comes out.
///
/// TCP connections and UDP are looked at only between ``watch(_:)`` and ``rest()``; where they do not count, nothing of that
/// exists.
package final class ActivityCounter {
  package private(set) var activity = EventRecord.Activity()
  private let settings: ActivitySettings
  private let loop: EventLoop
  private let say: (_ sentence: String) -> Void
  private let changed: (EventRecord.ActivityReason) -> Void
  private var machine = ActivityMachine()
  private var timer: LoopTimer?
  private var connections: ConnectionCounter?
  private var datagrams: DatagramCounter?

  /// - Parameters:
  ///   - say: Gets each sentence for people.
  ///   - path: Which links there are; nil while that is not known.
  ///   - changed: Called after each change of ``activity``, with its reason.
  package init(
    _ settings: ActivitySettings, on loop: EventLoop, say: @escaping (_ sentence: String) -> Void = StandardError.tell,
    path: @escaping () -> NetworkPath? = { nil },
    changed: @escaping (EventRecord.ActivityReason) -> Void
  ) {
    self.settings = settings
    self.loop = loop
    self.say = say
    self.changed = changed
    timer = LoopTimer(on: loop) { [unowned self] in fire() }
    if settings.counts.contains(.tcp) { countConnections() }
    if settings.counts.contains(.udp) { countDatagrams(path) }
  }

  private func countConnections() {
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
      setConnections(0, at: KernelClock.monotonic.now)
    } catch {
      warn("TCP connections are", error)
    }
  }

  private func countDatagrams(_ path: @escaping () -> NetworkPath?) {
    do {
      datagrams = try DatagramCounter(
        settings.connections.exclusions, on: loop, path: path,
        changed: { [unowned self] in setDatagrams($0.count, at: $0.date) },
        failed: { [unowned self] error in
          warn("UDP is", error)
          setDatagrams(0, at: KernelClock.monotonic.now)
          activity.datagrams = nil
          release(&datagrams)
        })
      activity.datagrams = 0
    } catch {
      warn("UDP is", error)
    }
  }

  /// Its handler is on the stack.
  private func release<Counter: AnyObject>(_ counter: inout Counter?) {
    let old = counter
    counter = nil
    loop.schedule(after: .zero) { withExtendedLifetime(old) {} }
  }

  // MARK: Numbers

  /// Takes note of how many requests programs have announced.
  ///
  /// - Parameter date: The time at which that came about. What is due since then is due now.
  package func setRequests(_ count: Int, at date: Duration = KernelClock.monotonic.now) {
    guard settings.counts.contains(.requests) else { return }
    // No number that a caller can give makes the sum overflow.
    let others = activity.inFlight - activity.requests
    change(to: min(max(count, 0), Int(Int32.max)) + others, at: date)
  }

  /// Takes note of how many TCP connections are in flight, which are counted from the first call on. The same number means that
  /// one has come and gone: in a train of short ones, the indicator stays.
  ///
  /// - Parameter date: The time at which that came about. What is due since then is due now.
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

  /// TCP connections are not counted any more.
  package func forgetConnections() {
    setConnections(0, at: KernelClock.monotonic.now)
    activity.connections = nil
  }

  private func change(to count: Int, at date: Duration) {
    let before = activity.inFlight
    guard count != before else { return }
    activity.inFlight = count
    if before == 0 || count == 0 { handle(count > 0 ? .busy : .idle, at: date) }
    changed(count > before ? .requestBegan : .requestEnded)
  }

  // MARK: The indicator

  private func linger(from date: Duration) {
    guard machine.state == .delayingEnd else { return }
    handle(.busy, at: date)
    handle(.idle, at: date)
  }

  /// When the indicator decides next.
  package var deadline: Duration? { machine.deadline }

  /// Does what is due at once, for somebody who wants the present state.
  package func fireDue() {
    while let deadline, deadline <= KernelClock.monotonic.now { fire() }
  }

  private func handle(_ event: ActivityMachine.Event, at date: Duration) {
    let effects = machine.handle(event, at: date)
    activity.state = machine.state
    if effects.setsTimer { timer?.set(at: machine.deadline) }
  }

  private func fire() {
    let reason: EventRecord.ActivityReason = machine.state == .delayingStart ? .activationDelay : .completionDelay
    handle(.timerFired, at: KernelClock.monotonic.now)
    changed(reason)
  }

  // MARK: Connections

  /// Begins to look at connections, and calls `body` when ``activity`` says what is.
  package func watch(_ body: @escaping () -> Void) {
    datagrams?.watch()
    guard let connections else { return body() }
    connections.afterScan { [self] in
      fireDue()
      body()
    }
  }

  /// Looks at connections, and returns when ``activity`` says what is.
  package func watchNow() {
    datagrams?.watch()
    connections?.scanNow()
    fireDue()
  }

  /// Nobody wants to know about connections any more.
  package func rest() {
    connections?.rest()
    datagrams?.rest()
  }

  /// Whose connections are in flight, as far as this user may know and that can be told in time.
  package func programs(within time: Duration) -> [NamedCount] {
    connections?.programs(within: time).map { NamedCount(name: $0.name, count: $0.connections) }
      ?? []
  }

  /// Tells of programs that were to be left out, if programs cannot be seen from here.
  package func warnOfUnseenPrograms() {
    guard let programs = connections?.unseenPrograms, !programs.isEmpty else { return }
    say(
      "the TCP connections of \(programs.map(\.harmless).joined(separator: ", ")) count: a user namespace or /proc hides "
        + "which connections are theirs; name a port or an address with --activity-ignore instead")
  }

  private func warn(_ what: String, _ error: any Error) {
    say("\(what) not counted, all else works: \(error)")
  }
}
