import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// The machine's state as this process finds it out: the path from netlink, and what is in flight. Each record is complete state,
/// with a number and a date.
///
/// It belongs to one loop and its thread.
package final class LocalStatus {
  private let loop: EventLoop
  private let options: StatusOptions
  private let emit: (EventRecord) -> Void
  private let failed: (any Error) -> Void
  private var reachability: NetlinkReachability?
  /// Tries again to read netlink, if there was no descriptor or memory.
  private var netlinkRetry: Retry?
  /// The values of the WiFi network that are reported.
  private var wifi: WiFiReporting
  private var sequence = RecordSequence()
  /// The links that a record has listed last; nil if lists are not told.
  private var listedLinks: InterfaceTable?
  /// Nil if nothing is counted here.
  private var counter: ActivityCounter?
  private var isCounting = false
  /// Why the count has changed last in this turn of the loop, and when that was noticed; nil if it has not.
  private var activityChange: (reason: EventRecord.ActivityReason, date: Duration)?
  /// Scans connections for the names of their programs if a service counts them.
  private var programNamer: ActivityCounter?
  private var hasSaidWhatIsMissing = false
  private var hasWarnedOfPrograms = false
  /// The closure that is called when links have changed, but not the path.
  package var linksChanged: (NetworkPath, EventTimestamp) -> Void = { _, _ in }

  /// Creates a status that does not read or count anything yet.
  ///
  /// - Parameters:
  ///   - options: The options. Those about a service, probes and figures do not matter.
  ///   - loop: The loop that the status belongs to.
  ///   - failed: The closure that is called if the kernel refuses a socket, or the connection to it is lost for good.
  ///   - emit: The closure that gets each record.
  package init(
    _ options: StatusOptions, on loop: EventLoop, failed: @escaping (any Error) -> Void,
    emit: @escaping (EventRecord) -> Void
  ) {
    self.options = options
    self.loop = loop
    self.emit = emit
    self.failed = failed
    wifi = options.configuration.wifi
    if options.activity.counts != .requests || options.countsRequests {
      counter = ActivityCounter(
        options.activity, on: loop, warn: options.warn, path: { [unowned self] in last?.path },
        changed: { [unowned self] in activityChange = ($0, $1) })
      loop.onTurnEnd = { [unowned self] in emitCount() }
    }
  }

  /// The last record; nil before the first one.
  package var last: EventRecord? { sequence.last }

  // MARK: The path

  /// The counters of netlink processing; all zero if netlink is not read.
  package var statistics: MonitorStatistics { reachability?.statistics ?? MonitorStatistics() }

  /// The addresses that traffic leaves from; nil if netlink is not read.
  package var localAddresses: Set<InternetAddress>? { reachability?.localAddresses }

  /// Reads netlink from now on. If it is read already, nothing happens.
  ///
  /// - Parameter triesAgain: Whether a lack of descriptors or memory is no failure, because it passes. Default: false.
  package func watch(triesAgain: Bool = false) {
    guard reachability == nil else { return }
    let retry = Retry(on: loop) { [unowned self] in readNetlink(triesAgain: triesAgain) }
    netlinkRetry = retry
    retry.begin()
  }

  /// Returns false if it has to be tried again.
  private func readNetlink(triesAgain: Bool) -> Bool {
    guard reachability == nil else { return true }
    var configuration = options.configuration
    configuration.wifi = wifi
    if options.trafficInterval != nil { configuration.findsAllCarriers = true }
    do {
      let reachability = try NetlinkReachability(
        on: NetlinkSource(on: loop, input: options.input), configuration: configuration,
        rules: options.rules?.rules ?? NetworkRules(),
        publish: { [unowned self] path, change, moment in take(path, change, moment) },
        fail: { [unowned self] error in failed(error) })
      self.reachability = reachability
      try reachability.start()
      reportMissingFeatures()
    } catch {
      reachability = nil
      // A program that has just started says what it lacks, and one that runs goes on.
      if triesAgain, (error as? SystemError)?.isPassing ?? false { return false }
      failed(error)
    }
    return true
  }

  /// Reports missing kernel features once, even if netlink takes over from a service several times.
  private func reportMissingFeatures() {
    guard options.saysWhatIsMissing, !hasSaidWhatIsMissing else { return }
    hasSaidWhatIsMissing = true
    for feature in reachability?.missingFeatures ?? [] { options.warn(feature.loss) }
  }

  /// Stops reading netlink.
  package func stopWatching() {
    netlinkRetry?.stop()
    reachability?.stop()
    reachability = nil
  }

  private func take(_ path: NetworkPath, _ change: ReachabilityMachine.Change, _ moment: EventTimestamp) {
    guard let event = EventRecord.Event(change) else {
      sequence.update(path)
      return linksChanged(path, moment)
    }
    if case .wifi = change {
      sequence.update(path)
      if let record = sequence.repeated(as: .wifi, at: moment) { emit(record) }
      return
    }
    let listsLinks = options.configuration.publishesInterfaceChanges
    if case .interfaces = change {
      linksChanged(path, moment)
      if !listsLinks { return }
      if let listedLinks, path.links.listsTheSame(as: listedLinks, showsSwitching: options.tellsSwitching) { return }
    }
    if listsLinks { listedLinks = path.links }
    var record = EventRecord(
      sequence: sequence.nextNumber, nanosecondsSince1970: moment.wall, monotonicNanoseconds: moment.monotonic,
      event: event,
      path: path)
    record.activity = activity
    record.listsInterfaces = options.listsInterfaces
    emit(sequence.append(record))
  }

  /// Applies other rules of the user from now on.
  package func use(_ rules: NetworkRules) { reachability?.use(rules) }

  /// Reads everything from the kernel again.
  package func resync() { reachability?.resync() }

  /// Sets which values of the WiFi network are reported from now on.
  ///
  /// - Returns: The current values; nil if they are not known.
  package func report(_ wifi: WiFiReporting) -> WiFiConnection? {
    self.wifi = wifi
    return reachability?.report(wifi)
  }

  /// Returns how the current verdict has come about. Throws if netlink is not read or fails.
  package func explain() throws -> PathExplanation {
    guard let reachability else { throw PlainError("netlink is not read") }
    return try reachability.explain()
  }

  /// Returns the ID of the network that carries the path; nil while it is not known.
  ///
  /// - Parameter key: The secret key of this machine.
  package func network(key: [UInt8]) -> NetworkIdentity? {
    let facts = try? reachability?.networkFacts()
    return facts.flatMap { $0 }.map { NetworkIdentity(of: $0, key: key) }
  }

  /// Reads a trace in place of the kernel until its end.
  func replay(
    _ player: TracePlayer, until isFinished: () -> Bool, _ figures: Figures?,
    found: @escaping (ReachabilityReason, EventTimestamp) -> Void
  ) {
    reachability?.replay(
      player, until: isFinished, sample: figures?.sampleTraffic, look: figures?.sampleQuality, found: found)
  }

  // MARK: What is in flight

  /// The state of the indicator and the number in flight; nothing in flight if it is not counted here now.
  package var activity: EventRecord.Activity { isCounting ? counter?.activity ?? .init() : .init() }

  /// Sets the number of requests that programs have announced.
  ///
  /// - Parameter date: The time of the change, on the monotonic clock. Default: now.
  package func setRequests(_ count: Int, at date: Duration? = nil) { counter?.setRequests(count, at: date) }

  /// Counts from now on. When this returns, ``activity`` is known.
  package func startCounting() {
    guard let counter, !isCounting else { return }
    if !hasWarnedOfPrograms { counter.warnOfUnseenPrograms() }
    hasWarnedOfPrograms = true
    if !options.countsOnDemand { counter.watchNow() }
    isCounting = true
    activityChange = nil
    sequence.note(activity)
  }

  /// Stops counting.
  package func stopCounting() {
    guard isCounting else { return }
    isCounting = false
    counter?.rest()
  }

  /// Starts to watch connections, and calls `body` when the last record has the current count.
  package func watchConnections(_ body: @escaping () -> Void) {
    guard let counter else { return body() }
    counter.watch { [unowned self] in
      emitCount()
      body()
    }
  }

  /// Stops watching connections and UDP.
  package func restConnections() { counter?.rest() }

  /// The receiver of a count may change the count: if it finds that a client is gone, the client's requests end.
  private func emitCount() {
    while isCounting, let change = activityChange {
      activityChange = nil
      let moment = EventTimestamp(monotonic: change.date)
      let record = sequence.record(of: activity, because: change.reason, at: moment)
      if let record { emit(sequence.append(record)) }
    }
  }

  /// Returns the programs whose connections are in flight. This process searches /proc itself for at most `time`, even if a
  /// service counts, so that users see only what their own permissions allow.
  package func programs(within time: Duration) -> [NamedCount] {
    if isCounting, let counter { return counter.programs(within: time) }
    var settings = options.activity
    settings.counts = .tcp
    let namer = programNamer ?? ActivityCounter(settings, on: loop, warn: options.warn) { _, _ in }
    programNamer = namer
    namer.watchNow()
    defer { namer.rest() }
    return namer.programs(within: time)
  }

  /// Stops reading and counting.
  package func stop() {
    stopWatching()
    counter?.rest()
  }
}
