import Netwatch
import NetwatchEventLoop

/// Runs a ``PortalMachine`` on a loop: its timer, and what wakes it after a suspend. Whoever owns it makes the requests.
///
/// It belongs to the thread of its loop.
package final class PortalSchedule {
  private var machine: PortalMachine
  private let loop: EventLoop
  private let start: (_ number: Int, _ address: PortalURL, _ interface: InterfaceName) -> Void
  private let kill: (_ number: Int) -> Void
  private let concluded: (_ reason: ReachabilityReason?) -> Void
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in handle(.timerFired) }
  private var clockWatch: WallClockWatch?

  /// Creates a schedule that asks nothing yet.
  ///
  /// - Parameters:
  ///   - start: The closure that begins a request over a link. Its end is passed on as ``PortalMachine/Event/ended(_:_:)``.
  ///   - kill: The closure that ends a request, whose answer is not needed any more.
  ///   - concluded: The closure that is called when a request has ended or the session ends soon, with the reason for a new line; nil if
  ///     the answer is no news.
  package init(
    _ timing: PortalMachine.Timing = .init(), on loop: EventLoop,
    start: @escaping (_ number: Int, _ address: PortalURL, _ interface: InterfaceName) -> Void,
    kill: @escaping (_ number: Int) -> Void, concluded: @escaping (_ reason: ReachabilityReason?) -> Void
  ) {
    machine = PortalMachine(timing)
    self.loop = loop
    self.start = start
    self.kill = kill
    self.concluded = concluded
    // Timers do not run while the machine is suspended. Without this watch, an answer may be old once.
    clockWatch = try? WallClockWatch(on: loop) { [unowned self] in handle(.doubted) }
  }

  /// What the API has answered, with the time that remains now. Nil if there is no answer.
  package var portal: CaptivePortal? { machine.portal(at: loop.now) }
  /// Whether a first answer is still to come.
  package var awaitsAnswer: Bool { machine.awaitsAnswer }

  /// Asks what this path's network names from now on.
  package func follow(_ announcements: NetworkAnnouncements?, on path: NetworkPath) {
    let link = path.isReachable ? path.kernelName : nil
    handle(.announced(announcements?.portalAPI, over: link))
  }

  package func handle(_ event: PortalMachine.Event) {
    for effect in machine.handle(event, at: loop.now) {
      switch effect {
      case .start(let number, let address, let interface): start(number, address, interface)
      case .kill(let number): kill(number)
      case .arm(let deadline): timer.set(at: deadline)
      case .concluded(let isNews): concluded(isNews ? .announcementChanged : nil)
      case .endsSoon: concluded(.sessionEnds)
      }
    }
  }

  /// Begins no more requests. Whoever owns the schedule ends the one that runs.
  package func stop() {
    timer.stop()
    clockWatch = nil
  }
}
