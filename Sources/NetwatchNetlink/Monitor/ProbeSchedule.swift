import Netwatch
import NetwatchEventLoop

/// Runs a ``ProbeMachine`` on a loop: its timer, and what wakes it after a suspend. Whoever owns it makes the requests.
///
/// It belongs to the thread of its loop.
package final class ProbeSchedule {
  private var machine: ProbeMachine
  private let loop: EventLoop
  private let start: (_ number: Int, _ interface: InterfaceName) -> Void
  private let kill: (_ number: Int) -> Void
  private let answered: (_ isNews: Bool) -> Void
  private var timer: LoopTimer?
  private var clockWatch: WallClockWatch?
  private var clockRetry: Retry?

  /// Creates a schedule without a path.
  ///
  /// - Parameters:
  ///   - start: The closure that begins a request over a link. Its end is passed on as ``ProbeMachine/Event/ended(_:_:)``.
  ///   - kill: The closure that ends a request, whose answer is not needed any more.
  ///   - answered: The closure that is called when a request has ended; the result is in ``internet``.
  package init(
    _ timing: ProbeMachine.Timing, on loop: EventLoop,
    start: @escaping (_ number: Int, _ interface: InterfaceName) -> Void,
    kill: @escaping (_ number: Int) -> Void, answered: @escaping (_ isNews: Bool) -> Void
  ) {
    machine = ProbeMachine(timing)
    self.loop = loop
    self.start = start
    self.kill = kill
    self.answered = answered
    timer = LoopTimer(on: loop) { [unowned self] in handle(.timerFired) }
    // Timers do not run while the machine is suspended. Without this watch, a result may be old once.
    clockRetry = Retry(on: loop) { [unowned self] in
      clockWatch = try? WallClockWatch(on: loop) { [unowned self] in handle(.doubted) }
      return clockWatch != nil
    }
    clockRetry?.begin()
  }

  /// The current result.
  package var internet: InternetAccess { machine.internet }
  /// Whether a result is still to come.
  package var awaitsAnswer: Bool { machine.awaitsAnswer }

  package func handle(_ event: ProbeMachine.Event) {
    for effect in machine.handle(event, at: loop.now) {
      switch effect {
      case .start(let number, let interface): start(number, interface)
      case .kill(let number): kill(number)
      case .arm(let deadline): timer?.set(at: deadline)
      case .answer(_, let isNews): answered(isNews)
      }
    }
  }

  /// Stops the timer.
  package func stop() { timer?.stop() }
}
