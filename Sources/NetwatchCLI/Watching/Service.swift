import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchLines
import NetwatchNetlink
import NetwatchStream

/// The service of `netwatch serve`: one monitor and one activity indicator for all programs.
final class Service {
  private let manager: ServiceManager
  private let loop: EventLoop
  private var source: LineSource?
  private var server: EventServer?
  private var signals: SignalSource?
  private var outages = OutageMeter()
  private let hooks: HookRunner?
  private var log: LogFeed?
  /// The counters of links, opened when a client asks for traffic; nil until that has succeeded.
  private var counters: LinkCounters?

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
    loop = try EventLoop()
    self.hooks = try hooks.map { [loop] in try HookRunner($0, on: loop) }
    var options = LineSource.Options()
    options.activity = activity
    options.countsRequests = true
    options.rules = rules
    // The service counts only for clients, so it looks at connections only while a client watches.
    options.countsOnDemand = true
    options.saysWhatIsMissing = saysWhatIsMissing
    options.trafficInterval = loggedTraffic
    let source = try LineSource(options, on: loop) { [unowned self] record in
      if record.event == .traffic {
        log?.add(record)
        return
      }
      guard record.traffic != nil else { return pass(record) }
      var record = record
      // The server samples traffic itself for the clients that want it.
      record.traffic = nil
      pass(record)
    }
    self.source = source
    server = try EventServer(
      socket, on: loop, connectionLimit: connectionLimit,
      identity: ServiceIdentity(version: version, counts: activity.counts),
      requestsChanged: { [unowned source] in source.setRequests($0) },
      statistics: { [unowned self, unowned source] in
        ServiceStatistics(of: source.statistics, outages, at: KernelClock.monotonic.now)
      },
      sampleTraffic: { [unowned self] in sampleTraffic(of: $0) },
      reportWiFi: { [unowned source] in source.report($0) },
      lookAtQuality: { [unowned source] isFirst in source.lookAtQuality(isFirst: isFirst) },
      // Connections are looked at only while a client watches, so the first client waits for a look.
      prepareGreeting: { [unowned source] greet in source.watchConnections(greet) },
      lastSubscriberLeft: { [unowned source] in source.restConnections() })
    if isLogged { log = try LogFeed(on: loop) }
    signals = try SignalSource([SIGTERM, SIGINT, SIGHUP], on: loop) { [unowned self] in obey($0.number) }
  }

  /// Serves until SIGTERM or SIGINT.
  func run() throws {
    try source?.start()
    feedWatchdog()
    manager.notify("READY=1")
    defer { manager.notify("STOPPING=1") }
    try source?.run()
    try log?.finish()
  }

  /// Passes a record on to the clients, the hooks and the log.
  private func pass(_ record: EventRecord) {
    if record.event == .initial || record.event == .reachability {
      outages.note(record.path, at: .nanoseconds(record.monotonicNanoseconds))
    }
    log?.add(record)
    server?.publish(record)
    hooks?.run(record)
  }

  private func sampleTraffic(of path: NetworkPath) -> TrafficMeter.Sample? {
    guard let carrier = path.carrier else { return nil }
    if counters == nil { counters = try? LinkCounters() }
    return counters?.sample(carrier.index, carrier.name)
  }

  private func obey(_ signal: CInt) {
    guard signal == SIGHUP else { return loop.stop() }
    manager.notify("RELOADING=1\nMONOTONIC_USEC=\(KernelClock.monotonic.nanoseconds / 1_000)")
    source?.resync()
    manager.notify("READY=1")
  }

  private func feedWatchdog() {
    guard let interval = manager.watchdogInterval else { return }
    manager.feedWatchdog()
    loop.schedule(after: interval / 2) { [unowned self] in feedWatchdog() }
  }
}
