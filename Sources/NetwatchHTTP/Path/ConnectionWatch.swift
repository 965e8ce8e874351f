import Netwatch
import NetwatchEventLoop

/// Follows the routes of a session's connections: asks the kernel the questions of a ``ConnectionMachine``. Belongs to the
/// loop.
final class ConnectionWatch {
  /// Changes come in bursts, and the kernel announces some before it makes them. So it is asked at once, and again after this
  /// time.
  private static let spacing = Duration.milliseconds(20)

  private let loop: EventLoop
  private let routes: KernelRoutes
  private let grace: Duration
  private var machine: ConnectionMachine
  private var registration: EventLoop.Registration?
  /// Wakes the machine at the time that it has asked for.
  private lazy var timer = LoopTimer(on: loop) { [unowned self] in run([.woke]) }
  /// Set while further changes are only noted.
  private lazy var pause = LoopTimer(on: loop) { [unowned self] in endPause() }
  /// Whether changes have come during the pause.
  private var hasNews = false
  /// The time of the last change of the network. Nil if there was none.
  private var changed: Duration?
  /// Called with connections that must no longer be used.
  var onLoss: ([(socket: CInt, Connection)]) -> Void = { _ in }
  /// Called when routes may have changed, after ``onLoss``.
  var onChange: () -> Void = {}

  /// - Parameter grace: The time for which a route may be changed before its connection is lost.
  /// - Throws: The error of the system if netlink is not permitted.
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

  /// Whether the kernel has no route to any of the addresses. False if it does not answer, or if there are no addresses.
  func isUnreachable(_ addresses: [InternetAddress]) -> Bool {
    !addresses.isEmpty && addresses.allSatisfy { routes.route(to: $0) == .none }
  }

  /// Returns the way to the first address of each family, as it is now.
  func ways(to addresses: [InternetAddress]) -> [PeerRoute] {
    [AddressFamily.ipv4, .ipv6].compactMap { family in
      addresses.first { $0.family == family && !$0.isLoopback }.map { routes.route(to: $0) }
    }
  }

  /// The time until which a failure may be a short loss. Nil if the network has not changed recently.
  func graceEnd(at now: Duration) -> Duration? {
    guard let changed, now < changed + grace else { return nil }
    return changed + grace
  }

  private func networkChanged() {
    changed = loop.now
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
    let now = loop.now
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
