import Netwatch
import NetwatchEventLoop

/// Follows the routes of a session's connections: asks the kernel what a ``ConnectionMachine`` wants to know. Belongs to the loop.
final class ConnectionWatch {
  /// Changes come in bursts, and the kernel tells of some before it makes them: it is asked at once, and again this much later.
  private static let spacing = Duration.milliseconds(20)

  private let loop: EventLoop
  private let routes: KernelRoutes
  private let grace: Duration
  private var machine: ConnectionMachine
  private var registration: EventLoop.Registration?
  /// When the machine wants to be woken.
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in run([.woke]) }
  /// Set while changes are not looked at.
  private lazy var pause = LoopTimer(on: loop) { [unowned self] in endPause() }
  /// Changes have come meanwhile.
  private var hasNews = false
  /// When the network changed last; nil if it has not.
  private var changed: Duration?
  /// Called with connections that must not be used any more.
  var onLoss: ([(socket: CInt, Connection)]) -> Void = { _ in }
  /// Called when routes may have changed, after ``onLoss``.
  var onChange: () -> Void = {}

  /// - Parameter grace: How long a route may be changed before its connection is lost.
  /// - Throws: what the system says if netlink is not permitted.
  init(on loop: EventLoop, grace: Duration) throws(SystemError) {
    self.loop = loop
    self.grace = grace
    routes = try KernelRoutes()
    machine = ConnectionMachine(grace: grace)
    registration = try routes.onChange(on: loop) { [unowned self] in networkChanged() }
  }

  deinit {
    if let registration { loop.remove(registration) }
  }

  func opened(_ socket: CInt, _ connection: Connection) {
    guard !connection.peer.isLoopback else { return }
    run([.opened(socket, connection)])
  }

  func closed(_ socket: CInt) { run([.closed(socket)]) }

  /// Whether the kernel has no route to any of some addresses. False if it does not answer, and for no addresses.
  func isUnreachable(_ addresses: [IPAddress]) -> Bool {
    !addresses.isEmpty && addresses.allSatisfy { routes.route(to: $0) == .none }
  }

  /// Until when a failure may be a short loss; nil if the network has not changed lately.
  func graceEnd(at now: Duration) -> Duration? {
    guard let changed, now < changed + grace else { return nil }
    return changed + grace
  }

  private func networkChanged() {
    changed = KernelClock.monotonic.now
    guard pause.deadline == nil else {
      hasNews = true
      return
    }
    scan()
    pause.set(after: Self.spacing)
  }

  private func endPause() {
    scan()
    if hasNews { pause.set(after: Self.spacing) }
    hasNews = false
  }

  private func scan() {
    run([.networkChanged])
    onChange()
  }

  private func run(_ events: [ConnectionMachine.Event]) {
    let now = KernelClock.monotonic.now
    var lost: [(socket: CInt, Connection)] = []
    var effects = events.flatMap { machine.handle($0, at: now) }[...]
    while let effect = effects.popFirst() {
      switch effect {
      case .ask(let socket, let connection):
        effects += machine.handle(.answered(socket, routes.route(of: connection)), at: now)
      case .lose(let socket, let connection): lost.append((socket, connection))
      case .wake(let at): timer.set(at: at)
      }
    }
    if !lost.isEmpty { onLoss(lost) }
  }
}
