import Netwatch
import NetwatchEventLoop

/// Runs an activity indicator on a loop: a number of requests goes in, what to publish comes out.
package final class ActivityRunner {
  package private(set) var activity = EventRecord.Activity()
  private var machine: ActivityMachine
  private let changed: (EventRecord.ActivityReason) -> Void
  private var timer: LoopTimer?

  /// - Parameters:
  ///   - configuration: the two delays.
  ///   - loop: where it runs.
  ///   - changed: called after each change of ``activity``, with its reason.
  package init(
    _ configuration: ActivityConfiguration = .init(), on loop: EventLoop,
    changed: @escaping (EventRecord.ActivityReason) -> Void
  ) {
    machine = ActivityMachine(configuration)
    self.changed = changed
    timer = LoopTimer(on: loop) { [unowned self] in fire() }
  }

  /// Takes note of how many requests run.
  package func setCount(_ count: Int) {
    // No number that a caller can give makes the sum overflow.
    change(to: min(max(count, 0), Int(Int32.max)) + connections, at: KernelClock.monotonic.now)
  }

  /// Takes note of how many TCP connections are in flight, which are counted from the first call on.
  ///
  /// - Parameter date: when that came about. What is due since then is due now.
  package func setConnectionCount(_ count: Int, at date: Duration) {
    let requests = activity.inFlight - connections
    activity.connections = count
    change(to: requests + count, at: date)
  }

  /// TCP connections are not counted any more.
  package func forgetConnections() {
    setConnectionCount(0, at: KernelClock.monotonic.now)
    activity.connections = nil
  }

  /// When the indicator decides next.
  package var deadline: Duration? { machine.deadline }

  /// Does what is due at once, for somebody who wants the present state.
  package func fireDue() {
    while let deadline = machine.deadline, deadline <= KernelClock.monotonic.now { fire() }
  }

  private var connections: Int { activity.connections ?? 0 }

  private func change(to count: Int, at date: Duration) {
    let before = activity.inFlight
    guard count != before else { return }
    activity.inFlight = count
    if before == 0 || count == 0 { handle(count > 0 ? .busy : .idle, at: date) }
    changed(count > before ? .requestBegan : .requestEnded)
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
}
