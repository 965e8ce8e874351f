import NetlinkWire
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// Runs a ``ReachabilityMachine`` on the kernel: facts go in, lookups come out, and paths are published.
///
/// It belongs to the thread of its source's loop.
package final class NetlinkReachability {
  /// The type of the closure that gets each path, its change and its time.
  package typealias Publish = (NetworkPath, ReachabilityMachine.Change, EventTimestamp) -> Void

  /// The time to keep trying if dumps fail at the start.
  private static let startPatience = Duration.seconds(5)
  /// The shortest interval between two resolutions of a host. Shorter ones would keep the resolver busy all the time.
  private static let shortestRefresh = Duration.seconds(1)
  /// The pause between two attempts at the start, in microseconds.
  private static let startPause: UInt32 = 10_000

  let source: NetlinkSource
  private let publish: Publish
  private let failed: (SystemError) -> Void
  private var machine: ReachabilityMachine
  private let routes: RouteQueries
  /// The changes that the machine wants to be announced.
  private(set) var watch = ReachabilityMachine.Watch()
  private var timers: [ReachabilityMachine.Timer: LoopTimer] = [:]
  private let target: NetworkTarget
  /// The source of WiFi values between two paths.
  let wifi: WiFiWatch
  /// The files of rules that this monitor follows itself; nil if there are none.
  private var files: RuleFiles?
  /// The last error from the kernel.
  private var refusal: SystemError?
  /// The addresses of the host, if the target is one.
  private var host: TargetHost?
  /// Whether new addresses of the host are being handled. A path that is published meanwhile is not a change of the network, so
  /// the name is not resolved again.
  private var isTellingAddresses = false

  /// Creates a monitor that does not follow the kernel yet.
  ///
  /// - Parameters:
  ///   - source: The netlink sockets and their loop.
  ///   - configuration: The target and the options.
  ///   - rules: The rules of the machine, which count less than the options. Default: none.
  ///   - publish: The closure that gets each path that has changed; the change tells in which respect.
  ///   - fail: The closure that is called when netlink is lost. Nothing is published any more.
  /// - Throws: A `SystemError` if the requests cannot be made.
  package init(
    on source: NetlinkSource, configuration: MonitorConfiguration, rules: NetworkRules = NetworkRules(),
    publish: @escaping Publish,
    fail: @escaping (SystemError) -> Void
  ) throws(SystemError) {
    self.source = source
    self.publish = publish
    failed = fail
    machine = ReachabilityMachine(
      configuration: configuration, rules: rules, namespaces: source.input.namespaces(), user: geteuid(),
      vrf: IsolatedNamespaces.vrf)
    routes = RouteQueries(by: source.conversation, pause: source.input.pause)
    target = configuration.target
    wifi = WiFiWatch(on: source.loop, of: source.input, configuration.wifi, read: source.connection(of:hasFrequency:))
    wifi.isDue = { [unowned self] in sampleSignal() }
    wifi.emit = { [unowned self] connection, reason in
      publish(machine.path.with(self.reported(connection), reason: reason), .wifi, source.moment)
    }
  }

  /// The counters of the machine.
  package var statistics: MonitorStatistics { machine.statistics }
  /// The kernel features that were needed but are missing, in a fixed order.
  package var missingFeatures: [KernelFeature] { source.missing }

  /// Lists, asks and publishes the first path, all before this method returns. Then it follows the kernel on the loop.
  ///
  /// If the target is a host, the first path comes later, when the addresses of the host are known.
  ///
  /// - Throws: The error that makes this impossible. The monitor has left the loop then.
  package func start() throws {
    source.add(self)
    do {
      try begin()
    } catch {
      stop()
      throw error
    }
  }

  private func begin() throws {
    if case .host(let name, _) = target { try source.input.follow { try resolve(name) } }
    source.touchMoment(because: .start)
    dispatch(.started)
    let deadline = source.loop.now + Self.startPatience
    while machine.isDumping {
      if let refusal, !refusal.isTransient { throw refusal }
      guard source.loop.now < deadline, !source.input.isLost() else {
        throw refusal ?? SystemError.netlink("RTM_GETLINK dump", EAGAIN)
      }
      source.input.pause(Self.startPause)
      dispatch(.timerFired(.retry))
    }
    try source.follow()
  }

  /// Reads everything from the kernel again.
  package func resync() {
    source.touchMoment(because: .start)
    dispatch(.started)
  }

  /// Judges by the rules in these files, and follows them until ``stop()``.
  func follow(_ files: RuleFiles) {
    self.files = files
    files.follow(on: source.loop) { [unowned self] in use(files.rules) }
  }

  /// Judges by these rules of the machine from now on.
  package func use(_ rules: NetworkRules) {
    source.touchMoment(because: .start)
    dispatch(.ruled(rules))
  }

  /// Returns how the current verdict came about. It asks the kernel for the rules, which a verdict needs only beneath a tunnel.
  package func explain() throws(SystemError) -> PathExplanation {
    var rules: [AddressFamily: [RoutingRule]] = [:]
    for family in AddressFamily.allCases {
      if case .rules(let found) = try routes.ask(.rules(family)) { rules[family] = found }
    }
    let resolution = host.map { host in
      PathExplanation.Resolution(
        addresses: host.addresses, problem: host.problem, isDefinite: host.isKnown)
    }
    return PathExplanation(
      of: target, machine.evaluator, machine.answers, machine.destinations, rules, resolution: resolution)
  }

  /// Returns the facts that distinguish the network of the published path from other networks.
  ///
  /// - Returns: Nil if nothing is reachable, or as long as the kernel does not know the gateway's hardware address.
  package func networkFacts() throws(SystemError) -> NetworkIdentity.Facts? {
    guard let link = machine.path.interface else { return nil }
    return try GatewayQueries(routes, by: source.conversation).facts(of: link)
  }

  /// Stops: leaves the loop and publishes nothing any more.
  package func stop() {
    source.remove(self)
    wifi.stop()
    files?.stop()
    host?.stop()
    host = nil
    timers = [:]
  }

  /// Asks the driver for the signal of the WiFi network, and reports changes.
  func sampleSignal() {
    source.touchMoment(because: .signal)
    wifi.sample(at: source.moment)
  }

  // MARK: Events

  /// Handles the addresses of the target's host, the best one first; nil if no name server could be asked for them.
  package func receive(resolved addresses: [InternetAddress]?) {
    source.touchMoment(because: addresses.map { .resolved($0) } ?? .unresolved)
    isTellingAddresses = true
    dispatch(addresses.map { .resolved($0) } ?? .unresolved)
    isTellingAddresses = false
  }

  /// Passes an input to the machine, and performs what it wants. The kernel answers within a send, so answers are passed on
  /// from within ``perform(_:)``, before this method returns; the machine puts an output that
  /// `answered` or `dumped` follows last.
  func dispatch(_ input: ReachabilityMachine.Input) {
    for output in machine.handle(input, at: .nanoseconds(source.moment.monotonic)) { perform(output) }
  }

  func fail(_ error: SystemError) {
    stop()
    failed(error)
  }

  // MARK: Outputs

  private func perform(_ output: ReachabilityMachine.Output) {
    do throws(SystemError) {
      switch output {
      case .dump:
        dispatch(.dumpBegan)
        dispatch(.dumped(isConsistent: try source.dump(for: self)))
      case .readLinks(let indices):
        for index in indices { try source.readLink(index, for: self) }
      case .query(let queries, let afterPendingChanges):
        if afterPendingChanges { try source.links.waitForPendingChanges() }
        var answers: [RouteQuery: RouteAnswer] = [:]
        for query in queries { answers[query] = try routes.ask(query) }
        dispatch(.answered(answers))
      case .watch(let watch):
        self.watch = watch
        source.watchRoutes()
      case .timer(let timer, let deadline): set(timer, at: deadline)
      case .resolve: host?.pathChanged()
      case .publish(let path, let change): publishPath(path, change)
      }
    } catch {
      refusal = error
      dispatch(.refused)
    }
  }

  private func publishPath(_ path: NetworkPath, _ change: ReachabilityMachine.Change) {
    guard !source.input.isLost() else { return }
    let association = association(of: path.verdict)
    let connection = association.flatMap { wifi.connection(of: $0.radio) }
    publish(path.with(reported(connection), reason: path.reason), change, source.moment)
    // Watchers that are not told of links have not been told of their signal either.
    let isTold = change == .interfaces ? machine.configuration.publishesInterfaceChanges : change != .carriers
    wifi.handle(isTold ? .published(association, connection) : .sampled(connection), at: source.moment)
    // Name servers may respond differently over another path.
    if case .reachability = change, !isTellingAddresses { host?.pathChanged() }
    // The machine asks once more after a path, and the network may have changed meanwhile.
    isTellingAddresses = false
  }

  /// Returns what is reported of a connection to an access point.
  private func reported(_ connection: WiFiConnection?) -> WiFiConnection {
    wifi.reporting.part(of: connection ?? WiFiConnection())
  }

  private func resolve(_ name: HostName) throws {
    host = try TargetHost(
      name, on: source.loop, refresh: max(Self.shortestRefresh, machine.configuration.resolutionInterval),
      startsProcesses: machine.configuration.startsProcesses
    ) { [unowned self] in receive(resolved: $0) }
  }

  /// Returns the network of the radio that carries a path.
  private func association(of verdict: NetworkPath.Verdict) -> WiFiMachine.Association? {
    guard let ssid = verdict.ssid, let index = verdict.interfaceIndex,
      let radio = machine.evaluator.snapshot.radio(below: index)
    else { return nil }
    return WiFiMachine.Association(radio: radio.index, ssid: ssid)
  }

  /// The addresses that traffic leaves from now. They may also change without a new path.
  package var localAddresses: Set<InternetAddress> { machine.path.localAddresses }

  /// Sets which values of the WiFi network are reported from now on.
  ///
  /// - Returns: The current values; nil if no WiFi network carries the path, or its driver does not respond.
  package func report(_ reporting: WiFiReporting) -> WiFiConnection? {
    let wasWanted = wifi.reporting.isWanted
    wifi.reporting = reporting
    let association = association(of: machine.path.verdict)
    let connection = association.flatMap { wifi.connection(of: $0.radio) }
    source.touchMoment(because: .signal)
    // A caller that has asked before has not been told the current values.
    wifi.handle(wasWanted ? .sampled(connection) : .published(association, connection), at: source.moment)
    return connection.map { reporting.part(of: $0) }
  }

  private func set(_ timer: ReachabilityMachine.Timer, at deadline: Duration?) {
    if deadline != nil, timers[timer] == nil {
      timers[timer] = LoopTimer(on: source.loop) { [unowned self] in fire(timer) }
    }
    timers[timer]?.set(at: deadline)
  }

  func isArmed(_ timer: ReachabilityMachine.Timer) -> Bool { timers[timer]?.deadline != nil }

  func fire(_ timer: ReachabilityMachine.Timer) {
    timers[timer]?.stop()
    source.touchMoment(because: .timer(timer))
    dispatch(.timerFired(timer))
  }
}
