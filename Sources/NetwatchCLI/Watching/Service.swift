import Netwatch
import NetwatchEventLoop
import NetwatchLibC
import NetwatchLines
import NetwatchNetlink
import NetwatchStream

/// The service of `netwatch serve`: one monitor and one activity indicator for all programs.
final class Service {
  private let manager: ServiceManager
  private let loop: EventLoop
  private var status: LocalStatus?
  private var server: EventServer?
  private var signals: SignalSource?
  private var outages = OutageMeter()
  private let rules: RuleFiles?
  private let hooks: HookRunner?
  private var log: LogFeed?
  /// The time between two samples of the bytes for the log; nil for no bytes in the log.
  private let loggedTraffic: Duration?
  /// The sampler of traffic for clients and the log; nil until that is wanted, and has a socket.
  private var trafficSampler: TrafficSampler?
  /// Tries again to make the sampler, if there was no descriptor.
  private var trafficRetry: Retry?
  private var trafficIntervals: Set<Duration> = []
  /// The sampler of quality; nil until a client asks for that.
  private var qualitySampler: QualitySampler?
  private var wantsQuality = false
  private var failure: (any Error)?

  /// - Parameters:
  ///   - activity: The settings for what is counted, in addition to the requests of clients.
  ///   - isLogged: Whether changes are stored in the log. Default: false.
  ///   - loggedTraffic: The time between two samples of the bytes for the log. Default: nil, no bytes in the log.
  ///   - version: The version that the service reports to its clients.
  ///   - rules: The files of rules. Default: nil, no rules.
  ///   - hooks: The hooks that run for each line. Default: nil, no hooks.
  init(
    _ socket: ListeningSocket, manager: ServiceManager, activity: ActivitySettings, connectionLimit: Int,
    version: String, saysWhatIsMissing: Bool, rules: RuleFiles? = nil, hooks: HookSettings? = nil,
    isLogged: Bool = false,
    loggedTraffic: Duration? = nil
  ) throws {
    self.manager = manager
    self.rules = rules
    self.loggedTraffic = loggedTraffic
    loop = try EventLoop()
    self.hooks = try hooks.map { [loop] in try HookRunner($0, on: loop) }
    var options = StatusOptions()
    // A client may ask for the traffic at any time.
    options.configuration.findsAllCarriers = true
    options.activity = activity
    options.countsRequests = true
    options.rules = rules
    // The service counts only for clients, so it looks at connections only while a client watches.
    options.countsOnDemand = true
    options.saysWhatIsMissing = saysWhatIsMissing
    status = LocalStatus(
      options, on: loop, failed: { [unowned self] in fail($0) }, emit: { [unowned self] in take($0) })
    server = try EventServer(
      socket, of: self, on: loop, connectionLimit: connectionLimit,
      identity: ServiceIdentity(version: version, counts: activity.counts))
    if isLogged { log = try LogFeed(on: loop) }
    status?.linksChanged = { [unowned self] in
      trafficSampler?.count($0.carriers)
      log?.linksChanged($0, at: $1)
    }
    if let loggedTraffic {
      trafficIntervals = [loggedTraffic]
      try makeTrafficSampler()
    }
    signals = try SignalSource([SIGTERM, SIGINT, SIGHUP], on: loop) { [unowned self] in handle($0.number) }
  }

  /// Serves until SIGTERM or SIGINT.
  ///
  /// - Parameter network: The network namespace that this process has entered, with which the service ends. Default: nil.
  func run(in network: ForeignNetwork? = nil) throws {
    try network?.whenEnded(on: loop) { [unowned self] in
      fail(PlainError("\(network?.place.description ?? "") has ended"))
    }
    status?.startCounting()
    status?.watch()
    if let failure { throw failure }
    rules?.follow(on: loop) { [unowned self] in if let rules { status?.use(rules.rules) } }
    manager.feedWatchdog(on: loop)
    manager.notify("READY=1")
    defer { manager.notify("STOPPING=1") }
    try loop.run()
    if let failure { throw failure }
    try log?.finish()
  }

  private func fail(_ error: any Error) {
    failure = failure ?? error
    loop.stop()
  }

  /// Passes a record on to the clients, the hooks and the log.
  private func take(_ record: EventRecord) {
    if failure != nil { return }
    let isOfPath = record.event == .initial || record.event == .reachability
    if isOfPath {
      outages.note(
        record.path, at: .nanoseconds(record.monotonicNanoseconds), wall: record.nanosecondsSince1970)
      trafficSampler?.count(record.path.carriers)
    }
    log?.add(record)
    server?.publish(record)
    // A client knows nothing of the new path's quality until it is told.
    if isOfPath, wantsQuality, let quality = quality(of: record.path) { server?.publish(quality) }
    hooks?.run(record)
  }

  // MARK: Figures

  private func makeTrafficSampler() throws(SystemError) {
    trafficSampler = try TrafficSampler(on: loop) { [unowned self] interval, traffic, moment in
      if traffic.isEmpty { return }
      if interval == loggedTraffic { logTraffic(traffic, at: moment) }
      server?.publish(traffic, every: interval)
    }
    trafficSampler?.setIntervals(trafficIntervals)
    if let path = status?.last?.path { trafficSampler?.count(path.carriers) }
  }

  private func logTraffic(_ traffic: [LinkTraffic], at moment: EventTimestamp) {
    guard let log, var record = status?.last else { return }
    record.event = .traffic
    record.traffic = traffic
    record.timestamp = moment
    log.add(record)
  }

  /// Samples the link of a path from now on. Returns the figures; nil if they are not known.
  private func quality(of path: NetworkPath) -> LinkQuality? {
    let sampler =
      qualitySampler
      ?? QualitySampler(
        on: loop, addresses: { [unowned self] in status?.localAddresses }, warn: StandardError.warn,
        emit: { [unowned self] quality, _ in server?.publish(quality) })
    qualitySampler = sampler
    sampler.follow(path)
    return sampler.figures
  }

  // MARK: The service manager

  private func handle(_ signal: CInt) {
    guard signal == SIGHUP else { return loop.stop() }
    manager.notify("RELOADING=1\nMONOTONIC_USEC=\(KernelClock.monotonic.nanoseconds / 1_000)")
    status?.resync()
    manager.notify("READY=1")
  }
}

extension Service: EventServer.Provider {
  var statistics: ServiceStatistics {
    ServiceStatistics(of: status?.statistics ?? MonitorStatistics(), outages, at: KernelClock.monotonic.now)
  }

  func requestsChanged(to count: Int) { status?.setRequests(count) }

  // Connections are looked at only while a client watches, so the first client waits for a look.
  func prepareGreeting(_ greet: @escaping () -> Void) {
    if let status { status.watchConnections(greet) } else { greet() }
  }

  func lastSubscriberLeft() { status?.restConnections() }

  func sampleTraffic(every intervals: Set<Duration>) {
    trafficIntervals = intervals.union([loggedTraffic].compactMap { $0 })
    if let trafficSampler {
      trafficSampler.setIntervals(trafficIntervals)
    } else if !trafficIntervals.isEmpty {
      let retry = trafficRetry ?? Retry(on: loop) { [unowned self] in (try? makeTrafficSampler()) != nil }
      trafficRetry = retry
      retry.begin()
    }
  }

  func sampleQuality(_ isWanted: Bool) -> LinkQuality? {
    wantsQuality = isWanted
    guard isWanted, let path = status?.last?.path else {
      qualitySampler?.stop()
      return nil
    }
    return quality(of: path)
  }

  func report(_ wifi: WiFiReporting) -> WiFiConnection? { status?.report(wifi) }
}
