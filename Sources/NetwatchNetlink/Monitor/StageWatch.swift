import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Finds the stage of the way to the internet that fails, for lines. It runs a ``StageMachine`` on the kernel's neighbour
/// table, the configured name servers and the results of probes.
///
/// The watch belongs to the thread of its loop. If no stages are wanted, it is not created.
package final class StageWatch {
  /// The time between two nudges of a gateway.
  private static let nudgeInterval = Duration.seconds(5)

  private let loop: EventLoop
  private let emit: (EventTimestamp) -> Void
  private let gateways: GatewayWatch
  private var machine: StageMachine
  /// The name whose address a probe needs; nil if it needs none.
  package var host: HostName? {
    didSet { if host != oldValue, path != nil { configurationChanged() } }
  }
  private var lookup: ServerQuestion?
  /// The finding of the last request to the name servers; nil if there was none over this path.
  private var answer: StageFinding?
  /// The closure that is called when the name servers have answered, or have not in time. Default: nothing.
  package var answered: () -> Void = {}
  /// The servers that were configured when they were looked up last.
  private var servers = NameServers.none
  /// The finding about the routes to the name servers.
  private var routes = StageFinding(.notExamined)
  private var configurationWatch: PathWatch?
  private var watchRetry: Retry?
  private var path: NetworkPath?

  private let tellsEach: Bool
  private let nudges: Bool
  /// The earliest time of the next nudge.
  private var nextNudge = Duration.zero
  private var nudged: [Neighbour: GatewayNudge] = [:]
  private lazy var nudgeTimer = LoopTimer(on: loop) { [unowned self] in nudge() }

  /// Creates a watch that follows no path yet.
  ///
  /// - Parameters:
  ///   - host: The name whose address a probe needs; nil if there is no probe or it needs no address.
  ///   - includes: Decides by name over which links traffic may leave; nil for all.
  ///   - nudges: Whether datagrams are sent to a gateway that nothing proves to be alive.
  ///   - tellsEach: Whether each change of a stage is reported, not only a change of the first failing one.
  ///   - emit: The closure that is called for each change, with its time.
  /// - Throws: A `SystemError` if the kernel refuses a socket.
  package init(
    on loop: EventLoop, probing host: HostName?, includes: (@Sendable (_ name: String) -> Bool)?, nudges: Bool,
    tellsEach: Bool,
    emit: @escaping (EventTimestamp) -> Void
  ) throws(SystemError) {
    self.loop = loop
    self.host = host
    machine = StageMachine(includes: includes)
    self.nudges = nudges
    self.tellsEach = tellsEach
    self.emit = emit
    gateways = try GatewayWatch(on: loop)
    gateways.heard = { [unowned self] neighbour, state in _ = machine.handle(.neighbour(neighbour, state)) }
    gateways.turnEnded = { [unowned self] moment in
      handle(.neighboursWereRead, at: moment)
      setNudgeTimer()
    }
  }

  /// Has the kernel report changes of the configuration: DHCP may configure other servers after the path is known.
  package func watchConfiguration() {
    watchRetry = Retry(on: loop) { [unowned self] in
      configurationWatch = try? PathWatch(of: [NameServers.files.resolvConf, NameServers.files.resolved], on: loop) {
        [unowned self] in configurationChanged()
      }
      return configurationWatch != nil
    }
    watchRetry?.begin()
    // It may have changed before it was watched.
    if path != nil { configurationChanged() }
  }

  private func configurationChanged() {
    forgetServers()
    lookUpServers()
    handle(.nameServers(routes), at: .now)
  }

  /// The findings about each stage.
  package var stages: NetworkStages { machine.stages }

  // MARK: What is known

  /// Watches this path from now on. The caller reports the stages, so `emit` is not called.
  ///
  /// - Parameter internet: The result of a probe; nil if there is none.
  package func follow(_ path: NetworkPath, _ internet: InternetAccess?) {
    let former = self.path
    self.path = path
    if former?.verdict != path.verdict {
      if former != nil { forgetServers() }
      lookUpServers()
    }
    do {
      try gateways.follow(path) { _ = machine.handle(.path(path, gateways: $0)) }
    } catch {
      // Without the kernel's data, the state of the gateways is not known.
      _ = machine.handle(.path(path, gateways: []))
    }
    _ = machine.handle(.nameServers(answer ?? routes))
    _ = machine.handle(.internet(internet))
    _ = machine.handle(.neighboursWereRead)
    setNudgeTimer()
  }

  /// Notes that the links have changed, but not the path.
  package func linksChanged(_ path: NetworkPath, at moment: EventTimestamp) {
    guard let former = self.path, path.verdict == former.verdict, !path.isReachable else { return }
    self.path = path
    handle(.path(path, gateways: []), at: moment)
  }

  private func handle(_ event: StageMachine.Event, at moment: EventTimestamp) {
    let before = tellsEach ? machine.stages : nil
    let isNews = machine.handle(event)
    if isNews || before.map({ $0 != machine.stages }) ?? false { emit(moment) }
  }

  // MARK: Name servers

  /// Forgets the findings about name servers, because they do not apply to other servers or another path.
  private func forgetServers() {
    answer = nil
    lookup = nil
  }

  private func lookUpServers() {
    if let path, !path.isReachable {
      routes = StageFinding(.notExamined)
      return
    }
    servers = NameServers.configured()
    if let routed = servers.addresses.first(where: gateways.isRouted) {
      routes = StageFinding(.routed, routed)
    } else if servers.hasLocal {
      routes = StageFinding(.local)
    } else {
      routes = StageFinding(servers.addresses.isEmpty ? .noServer : .noRoute, servers.addresses.first)
    }
  }

  /// Asks the name servers for the address that a probe needs, because a probe begins. If a request is still pending, nothing
  /// happens.
  package func probeBegins() {
    guard lookup == nil, let host else { return }
    // The record that waits for the probe has not passed through here.
    if path == nil { lookUpServers() }
    lookup = ServerQuestion(host, to: servers, on: loop) { [unowned self] finding in
      lookup = nil
      answer = finding
      handle(.nameServers(answer ?? routes), at: .now)
      answered()
    }
  }

  /// Whether an answer of the name servers is still to come.
  package var isAsking: Bool { lookup != nil }

  // MARK: Nudges

  private func setNudgeTimer() {
    guard nudges else { return }
    let unproven = machine.unprovenGateways
    for gateway in nudged.keys where !unproven.contains(gateway) { nudged[gateway] = nil }
    if unproven.isEmpty {
      nudgeTimer.stop()
    } else if nudgeTimer.deadline == nil {
      nudgeTimer.set(at: max(nextNudge, loop.now))
    }
  }

  private func nudge() {
    nextNudge = loop.now + Self.nudgeInterval
    for gateway in machine.unprovenGateways {
      if nudged[gateway] == nil {
        nudged[gateway] = try? GatewayNudge(to: gateway, on: loop) { [unowned self] in
          handle(.answered(gateway), at: .now)
          // Not now, because that would release the object that has called this.
          loop.schedule(after: .zero) { [weak self] in self?.setNudgeTimer() }
        }
      }
      nudged[gateway]?.send()
    }
    setNudgeTimer()
  }

  /// Stops watching.
  package func stop() {
    gateways.stop()
    lookup = nil
    nudgeTimer.stop()
    nudged = [:]
    path = nil
  }
}

/// Sends a gateway an empty datagram, so that the kernel checks whether the gateway is there. A gateway that refuses the
/// datagram is alive.
///
/// The port is 9, whose data is discarded (RFC 863). The object belongs to the thread of its loop.
final class GatewayNudge {
  private static let port: UInt16 = 9

  private let gateway: Neighbour
  private let loop: EventLoop
  private let descriptor: FileDescriptor
  private let refused: () -> Void
  private var registration: EventLoop.Registration?

  /// Opens and connects the socket.
  ///
  /// - Parameter refused: The closure that is called when the gateway has refused a datagram.
  /// - Throws: A `SystemError` if the kernel has no route to the gateway, which proves nothing.
  init(to gateway: Neighbour, on loop: EventLoop, refused: @escaping () -> Void) throws(SystemError) {
    self.gateway = gateway
    self.loop = loop
    self.refused = refused
    let family = gateway.address.family == .ipv4 ? AF_INET : AF_INET6
    descriptor = try .result(
      of: "socket",
      socket(family, CInt(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0))
    bindToLink()
    try connect()
    registration = try loop.watch(descriptor.rawValue, for: .readable) { [unowned self] _ in readAnswer() }
  }

  deinit { if let registration { loop.remove(registration) } }

  /// Sends one empty datagram.
  func send() {
    // The error of an earlier datagram is read when the loop reports it.
    _ = NetwatchLibC.send(descriptor.rawValue, nil, 0, CInt(MSG_NOSIGNAL))
  }

  /// Binds the socket to the link, because a VPN may have routes for all addresses. If this is not permitted, before Linux 5.7,
  /// the routes decide.
  private func bindToLink() {
    var name = [CChar](repeating: 0, count: Int(IF_NAMESIZE))
    guard unsafe if_indextoname(UInt32(bitPattern: gateway.interfaceIndex), &name) != nil else { return }
    let link = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    try? LinkBinding.bind(descriptor.rawValue, to: link)
  }

  private func connect() throws(SystemError) {
    let status: CInt
    switch gateway.address {
    case .v4(let bits):
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      name.sin_port = Self.port.bigEndian
      name.sin_addr.s_addr = bits.bigEndian
      status = connect(name)
    case .v6(let bits):
      var name = sockaddr_in6()
      name.sin6_family = sa_family_t(AF_INET6)
      name.sin6_port = Self.port.bigEndian
      name.sin6_scope_id = UInt32(bitPattern: gateway.interfaceIndex)
      unsafe withUnsafeMutableBytes(of: &name.sin6_addr) { unsafe $0.storeBytes(of: bits.bigEndian, as: UInt128.self) }
      status = connect(name)
    }
    guard status == 0 else { throw .last("connect") }
  }

  private func connect<Name>(_ name: Name) -> CInt {
    unsafe withUnsafePointer(to: name) { name in
      unsafe name.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
        unsafe NetwatchLibC.connect(descriptor.rawValue, name, socklen_t(MemoryLayout<Name>.size))
      }
    }
  }

  /// Reads the pending error: the refusal of the gateway, or the kernel's error that it is not there.
  private func readAnswer() {
    var byte: UInt8 = 0
    while true {
      let count = unsafe recv(descriptor.rawValue, &byte, 1, 0)
      if count < 0, errno == ECONNREFUSED { return refused() }
      // EHOSTUNREACH and similar errors are cleared by reading them.
      if count < 0, errno == EAGAIN || errno == EWOULDBLOCK { return }
      if count < 0, errno != EINTR { return }
    }
  }
}
