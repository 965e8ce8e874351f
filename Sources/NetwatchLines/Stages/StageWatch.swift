import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchResolver
import NetwatchStream

/// Finds out which stage of the way to the internet fails, for lines: runs a ``StageMachine`` on the kernel's table of
/// neighbours, the configured name servers and what probes find.
///
/// Belongs to its loop. Where nobody asks for stages, nothing of this exists.
final class StageWatch {
  /// Between two nudges.
  private static let nudgeInterval = Duration.seconds(5)
  /// How long a name server may take. A probe waits longer, so its answer is not the first.
  private static let patience = Duration.seconds(4)

  private let loop: EventLoop
  private let tell: (Moment) -> Void
  private let gateways: GatewayWatch
  private var machine = StageMachine()
  /// The name that a probe needs an address for; nil where it needs none.
  private let host: HostName?
  private var lookup: ServerLookup?
  /// What the last question to the name servers has led to; nil where none was put over this path.
  private var answer: StageFinding?
  /// The one that is asked; nil where there are several, of which nobody says who has answered.
  private var onlyServer: IPAddress?
  /// Where routes to them lead.
  private var routes = StageFinding(.notExamined)
  private var configurationWatch: PathWatch?
  private var path: NetworkPath?

  private let tellsEach: Bool
  private let nudges: Bool
  /// Before this there is none.
  private var nextNudge = Duration.zero
  private var nudged: [Neighbour: GatewayNudge] = [:]
  private lazy var nudgeTimer = LoopTimer(on: loop) { [unowned self] in nudge() }

  /// - Parameters:
  ///   - host: the name that a probe needs an address for; nil where none is made, or it needs none.
  ///   - nudges: whether datagrams are sent to a gateway that nothing proves to be alive.
  ///   - tellsEach: whether each stage that is known better is told, not only that another one fails first.
  ///   - tell: called with the time of what is to be told.
  init(
    on loop: EventLoop, probing host: HostName?, nudges: Bool, tellsEach: Bool,
    tell: @escaping (Moment) -> Void
  ) throws(NetlinkError) {
    self.loop = loop
    self.host = host
    self.nudges = nudges
    self.tellsEach = tellsEach
    self.tell = tell
    gateways = try GatewayWatch(on: loop)
    gateways.heard = { [unowned self] neighbour, state in _ = machine.handle(.neighbour(neighbour, state)) }
    gateways.turnEnded = { [unowned self] moment in
      handle(.neighboursWereRead, at: moment)
      setNudgeTimer()
    }
    // DHCP names other servers when the path is there already.
    configurationWatch = try? PathWatch(of: [NameServers.files.resolvConf, NameServers.files.resolved], on: loop) {
      [unowned self] in
      forgetServers()
      lookUpServers()
      handle(.nameServers(routes), at: .now)
    }
  }

  var stages: NetworkStages { machine.stages }

  // MARK: What is known

  /// From now on of this path. Whoever calls tells of it, so nothing is told from here.
  ///
  /// - Parameter internet: what a probe has found; nil where none is made.
  func follow(_ path: NetworkPath, _ internet: InternetAccess?) {
    let former = self.path
    self.path = path
    if former?.verdict != path.verdict {
      if former != nil { forgetServers() }
      lookUpServers()
    }
    do {
      try gateways.follow(path) { _ = machine.handle(.path(path, gateways: $0)) }
    } catch {
      // What the kernel does not tell of neighbours is not known.
      _ = machine.handle(.path(path, gateways: []))
    }
    _ = machine.handle(.nameServers(answer ?? routes))
    _ = machine.handle(.internet(internet))
    _ = machine.handle(.neighboursWereRead)
    setNudgeTimer()
  }

  /// The links have changed, and not the path.
  func linksChanged(_ path: NetworkPath, at moment: Moment) {
    guard let former = self.path, path.verdict == former.verdict, !path.isReachable else { return }
    self.path = path
    handle(.path(path, gateways: []), at: moment)
  }

  private func handle(_ event: StageMachine.Event, at moment: Moment) {
    let before = tellsEach ? machine.stages : nil
    let isNews = machine.handle(event)
    if isNews || before.map({ $0 != machine.stages }) ?? false { tell(moment) }
  }

  // MARK: Name servers

  /// What they have said is not about others, or another path.
  private func forgetServers() {
    answer = nil
    lookup = nil
  }

  private func lookUpServers() {
    if let path, !path.isReachable {
      routes = StageFinding(.notExamined)
      return
    }
    let servers = NameServers.configured()
    onlyServer = servers.addresses.count == 1 && !servers.hasLocal ? servers.addresses[0] : nil
    if let routed = servers.addresses.first(where: gateways.isRouted) {
      routes = StageFinding(.routed, routed)
    } else if servers.hasLocal {
      routes = StageFinding(.local)
    } else {
      routes = StageFinding(servers.addresses.isEmpty ? .noServer : .noRoute, servers.addresses.first)
    }
  }

  /// A probe begins: the name servers are asked for what it needs, unless they owe an answer still.
  func probeBegins() {
    guard lookup == nil, let host, let name = try? host.inASCII() else { return }
    // The line that waits for the probe has not come by.
    if path == nil { lookUpServers() }
    var configuration = ResolverConfiguration()
    configuration.timeout = Self.patience
    lookup = ServerLookup(of: host, name, on: loop, configuration, inHostsFile: false) { [unowned self] outcome in
      conclude(outcome)
    }
  }

  private func conclude(_ outcome: Resolution.Outcome) {
    lookup = nil
    switch outcome {
    // The hosts file knows the name, so nobody was asked.
    case .success(let resolution) where resolution.timeToLive == nil: answer = nil
    case .success: answer = StageFinding(.answered, onlyServer)
    case .failure(let error):
      switch error.kind {
      case .noSuchName, .noAddress: answer = StageFinding(.answered, onlyServer)
      case .timedOut, .noServer: answer = StageFinding(.noAnswer, onlyServer)
      case .other: answer = nil
      }
    }
    handle(.nameServers(answer ?? routes), at: .now)
  }

  // MARK: Nudges

  private func setNudgeTimer() {
    guard nudges else { return }
    let unproven = machine.unprovenGateways
    for gateway in nudged.keys where !unproven.contains(gateway) { nudged[gateway] = nil }
    if unproven.isEmpty {
      nudgeTimer.stop()
    } else if nudgeTimer.deadline == nil {
      nudgeTimer.set(at: max(nextNudge, KernelClock.monotonic.now))
    }
  }

  private func nudge() {
    nextNudge = KernelClock.monotonic.now + Self.nudgeInterval
    for gateway in machine.unprovenGateways {
      if nudged[gateway] == nil {
        nudged[gateway] = try? GatewayNudge(to: gateway, on: loop) { [unowned self] in
          handle(.answered(gateway), at: .now)
          // Not now: it would end what has called us.
          loop.schedule(after: .zero) { [weak self] in self?.setNudgeTimer() }
        }
      }
      nudged[gateway]?.send()
    }
    setNudgeTimer()
  }

  func stop() {
    gateways.stop()
    lookup = nil
    nudgeTimer.stop()
    nudged = [:]
    path = nil
  }
}
