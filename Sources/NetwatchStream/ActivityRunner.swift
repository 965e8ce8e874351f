import Netwatch
import NetwatchEventLoop

/// Runs an ``ActivityMachine`` on a loop: a number of requests goes in, what to publish comes out.
public final class ActivityRunner {
  public private(set) var activity = EventRecord.Activity()
  private var machine: ActivityMachine
  private let loop: EventLoop
  private let changed: (EventRecord.ActivityReason) -> Void
  private var timer: EventLoop.Timer?

  /// - Parameter changed: called after each change of ``activity``, with its reason.
  public init(
    _ configuration: ActivityConfiguration = .init(), on loop: EventLoop,
    changed: @escaping (EventRecord.ActivityReason) -> Void
  ) {
    machine = ActivityMachine(configuration)
    self.loop = loop
    self.changed = changed
  }

  deinit { if let timer { loop.cancel(timer) } }

  /// Takes note of how many requests run.
  public func setCount(_ count: Int) {
    let before = activity.inFlight
    guard count != before else { return }
    activity.inFlight = count
    if before == 0 || count == 0 { handle(count > 0 ? .busy : .idle) }
    changed(count > before ? .requestBegan : .requestEnded)
  }

  private func handle(_ event: ActivityMachine.Event) {
    let effects = machine.handle(event, at: KernelClock.monotonic.now)
    activity.state = machine.state
    guard effects.setsTimer else { return }
    if let timer { loop.cancel(timer) }
    timer = machine.deadline.map { deadline in loop.schedule(at: deadline) { [unowned self] in fire() } }
  }

  private func fire() {
    timer = nil
    let reason: EventRecord.ActivityReason = machine.state == .delayingStart ? .activationDelay : .completionDelay
    handle(.timerFired)
    changed(reason)
  }
}
