import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// The source of all lines: records of the path, of what is in flight, and of the results of probes. Each record is complete
/// state, with a number and a date. The source belongs to one loop and its thread.
///
/// The records come from a service if there is one and it is asked. Otherwise they come from netlink, and from connections that
/// are counted here. The source changes between the two, and passes on a record only if it differs from the one before.
package final class LineSource {
  /// The time that a service has for its first line before netlink is read instead.
  private static let patience = Duration.milliseconds(250)

  private let loop: EventLoop
  private let options: Options
  private let tell: (EventRecord) -> Void
  private(set) var reachability: NetlinkReachability?
  private var probes: ProbeAnnotator?
  /// Whether the next path comes from a service and the last one from netlink, or the other way, because of new rules.
  private var hasChangedSides = false
  /// The URL of the probe that a rule has asked for; nil if none has.
  private var ruledProbe: String?
  private var link: ServiceLink?
  /// What the service was asked for.
  private var linkUse = ServiceUse.nothing
  /// Counts if no service does; nil if there is nothing to count without one.
  private var counter: ActivityCounter?
  private var isCounting = false
  /// Scans connections for the names of their programs if a service counts them.
  private var namer: ActivityCounter?
  /// The watches for figures; nil until the end of `init`.
  private var figures: FigureWatch?
  /// The values of the WiFi network that are reported.
  private var wifi: WiFiReporting
  /// The number of records that were passed on.
  private var number: UInt64 = 0
  /// The record that was passed on last; nil if it is never compared with another.
  private var last: EventRecord?
  /// The interface that carried the traffic last; nil if none has yet.
  private var carrier: EventRecord.LostInterface?
  /// The links that a record has listed last; nil if lists are not told.
  private var listed: InterfaceTable?
  /// The activity that a service has reported last.
  private var announced = EventRecord.Activity()
  /// The reason why the count here has changed in this turn of the loop; nil if it has not.
  private var activityReason: EventRecord.ActivityReason?
  private var hasLostService = false
  /// Whether each sentence on stderr has been written, so that it is written only once.
  private var hasHinted = false
  private var hasSaidWhatIsMissing = false
  private var hasWarned = false
  private var isFinished = false
  /// Tries again to read netlink, if there was no descriptor or memory when a service was lost.
  private var netlinkRetry: Retry?
  /// The error that ended the source; nil if there is none.
  package private(set) var failure: (any Error)?

  /// Creates a source that does not read anything yet.
  ///
  /// - Parameters:
  ///   - options: The options of the source.
  ///   - loop: The loop that the source belongs to.
  ///   - tell: The closure that gets each record, from within ``start()`` and ``run()``.
  /// - Throws: An error if probes are required and cannot be made, or the kernel refuses a socket.
  package init(_ options: Options, on loop: EventLoop, tell: @escaping (EventRecord) -> Void) throws {
    self.options = options
    wifi = options.configuration.wifi
    self.loop = loop
    self.tell = tell
    options.input.onFailure { [unowned self] error in fail(error) }
    ruledProbe = options.probeByRule == nil ? nil : options.rules?.rules.probe
    if let probe = options.probe { probes = try makeProbes(probe) }
    figures = try FigureWatch(
      options, on: loop,
      addresses: { [unowned self] in reachability?.localAddresses ?? last?.path.localAddresses },
      tell: { [unowned self] in addFigures($0, $1) })
    if options.activity.counts != .requests || options.countsRequests {
      counter = ActivityCounter(
        options.activity, on: loop, say: options.say, path: { [unowned self] in last?.path },
        changed: { [unowned self] in activityReason = $0 })
      loop.onTurnEnd = { [unowned self] in addCount() }
    }
  }

  deinit { stop() }

  private func makeProbes(_ settings: ProbeSettings) throws -> ProbeAnnotator {
    try ProbeAnnotator(
      settings, on: loop, say: options.say,
      tell: { [unowned self] record in
        var record = record
        // A service has its own numbers, and records of this source are between them.
        record.sequence = number + 1
        handOn(record)
      }, begins: { [unowned self] in figures?.probeBegins() }, failed: { [unowned self] in fail($0) })
  }

  /// Connects to the service, or lists everything and passes on the first record.
  ///
  /// - Throws: The error that ended the source.
  package func start() throws {
    connect()
    if link?.isConnected == true, !options.tellsFirstAtOnce {
      loop.schedule(after: Self.patience) { [unowned self] in
        if last == nil, probes?.isHolding != true { watchAlone() }
      }
    } else {
      watchAlone()
    }
    if let failure { throw failure }
    if !isFinished { watchFiles() }
    guard options.tellsFirstAtOnce, number == 0 else { return }
    number += 1
    tell(.unresolved(sequence: number))
  }

  /// Has the kernel report changes of files. A source that has told its only record does without, because taking that back takes up
  /// to 20 milliseconds.
  private func watchFiles() {
    link?.waitForService()
    figures?.watchFiles()
    guard let files = options.rules, options.player == nil else { return }
    files.follow(on: loop) { [unowned self] in useNewRules(files.rules) }
  }

  // MARK: Rules

  /// What is wrong with the files of rules as they were read last.
  package var ruleFaults: [NetworkRules.Fault] { options.rules?.faults ?? [] }

  /// What a service is used for. It does not know the rules of this user.
  private var serviceUse: ServiceUse {
    if case .everything = options.service, options.rules?.differsFromService == true { return .activity }
    return options.service
  }

  private func useNewRules(_ rules: NetworkRules) {
    if isFinished { return }
    if let (requests, wasConnected) = link.map({ ($0.requests, $0.isConnected) }), serviceUse != linkUse {
      hasChangedSides = true
      // A service that has told figures does not any more.
      if case .everything = linkUse { figures?.serviceWasLost(last?.path) }
      link = nil
      connect()
      link?.requests = requests
      link?.waitForService()
      if link?.isConnected != true, wasConnected { loseService() }
    }
    reachability?.use(rules)
    if reachability == nil, case .activity = serviceUse { watchNetlink() }
    replaceProbe(rules.probe)
  }

  /// Returns the first record of another source as the next one; nil if it says the same.
  private func successor(_ record: EventRecord, becauseOf reason: EventRecord.ActivityReason) -> EventRecord? {
    defer { hasChangedSides = false }
    guard let last, var next = record.successor(of: last, becauseOf: reason) else { return nil }
    if hasChangedSides, next.event == .reachability { next.path = next.path.with(reason: .rulesChanged) }
    return next
  }

  private func replaceProbe(_ url: String?) {
    guard !isFinished, let make = options.probeByRule, url != ruledProbe else { return }
    ruledProbe = url
    let held = probes?.heldRecord
    probes?.stop()
    do {
      probes = try url.map { url in
        var settings = make(url)
        settings.holdsFirstLine = held != nil
        figures?.probe(settings.host)
        return try makeProbes(settings)
      }
    } catch {
      options.say("\(error)")
      probes = nil
    }
    if let held { return add(held) }
    guard var record = last else { return }
    record.event = .reachability
    record.path = record.path.with(reason: .rulesChanged)
    record.internet = nil
    record.portalURL = nil
    record.setDateToNow()
    record.sequence = number + 1
    add(record)
  }

  /// Passes on records until ``finish()``, or until the end of the trace that is replayed.
  ///
  /// - Throws: The error that was passed to ``fail(_:)``, or that of the loop.
  package func run() throws {
    if let player = options.player {
      reachability?.replay(player, until: { isFinished }, sample: figures?.sample, look: figures?.look)
    } else if !isFinished {
      try loop.run()
    }
    if let failure { throw failure }
  }

  /// Leaves the loop, and ends the running probe.
  package func stop() {
    options.rules?.stop()
    netlinkRetry?.stop()
    reachability?.stop()
    link = nil
    counter?.rest()
    probes?.stop()
    figures?.stop()
  }

  /// Makes ``run()`` return. No record is passed on any more.
  package func finish() {
    isFinished = true
    loop.stop()
  }

  /// Ends the source with an error, which ``run()`` throws. The first error counts.
  package func fail(_ error: any Error) {
    failure = failure ?? error
    finish()
  }

  // MARK: Netlink

  private func watchAlone() {
    beginCounting()
    watchNetlink()
  }

  private func watchNetlink() {
    guard reachability == nil, !isFinished else { return }
    let retry = netlinkRetry ?? Retry(on: loop) { [unowned self] in readNetlink() }
    netlinkRetry = retry
    retry.begin()
  }

  /// Returns false if it has to be tried again.
  private func readNetlink() -> Bool {
    guard reachability == nil, !isFinished else { return true }
    var configuration = options.configuration
    configuration.wifi = wifi
    do {
      let reachability = try NetlinkReachability(
        on: NetlinkSource(on: loop, input: options.input), configuration: configuration,
        rules: options.rules?.rules ?? NetworkRules(),
        publish: { [unowned self] path, change, moment in publish(path, change, moment) },
        fail: { [unowned self] error in fail(error) })
      self.reachability = reachability
      try reachability.start()
      reportMissingFeatures()
    } catch {
      reachability = nil
      // A program that has just started says what it lacks, and one that runs goes on.
      if number > 0, (error as? SystemError)?.isPassing ?? false { return false }
      fail(error)
    }
    return true
  }

  /// Reports missing kernel features once, even if netlink takes over from a service several times.
  private func reportMissingFeatures() {
    guard options.saysWhatIsMissing, !hasSaidWhatIsMissing else { return }
    hasSaidWhatIsMissing = true
    for feature in reachability?.missingFeatures ?? [] { options.say(feature.loss) }
  }

  private func publish(_ path: consuming NetworkPath, _ change: ReachabilityMachine.Change, _ moment: Moment) {
    if isFinished { return }
    if case .wifi = change { return addWiFi(path, moment.wall, moment.monotonic) }
    if case .interfaces = change {
      figures?.linksChanged(path, at: moment)
      if !options.configuration.publishesInterfaceChanges { return }
      if let listed, path.links.listsTheSame(as: listed, showsSwitching: options.tellsSwitching) { return }
    }
    if options.configuration.publishesInterfaceChanges { listed = path.links }
    var record = EventRecord(
      sequence: number + 1, nanosecondsSince1970: moment.wall, monotonicNanoseconds: moment.monotonic,
      event: .init(change), path: path)
    record.activity = activity
    record.listsInterfaces = options.listsInterfaces
    // The first path after a service has ended is passed on only if it differs.
    if case .initial = change, let last {
      if let next = successor(record, becauseOf: hasLostService ? .serviceLost : .requestEnded) {
        add(next)
      } else if let new = record.path.wifi?.signal, wifi.signal?.hasNews(new, after: last.path.wifi?.signal) == true {
        addWiFi(record.path.with(reason: .signalChanged), moment.wall, moment.monotonic)
      }
      return
    }
    add(record)
  }

  /// Whether there is a connection to a service.
  package var hasService: Bool { link?.isConnected ?? false }

  /// Reads everything from the kernel again.
  package func resync() { reachability?.resync() }

  /// The counters of netlink processing; all zero if netlink is not read.
  package var statistics: MonitorStatistics { reachability?.statistics ?? MonitorStatistics() }

  // MARK: What is in flight

  private var activity: EventRecord.Activity { isCounting ? counter?.activity ?? announced : announced }

  /// Sets the number of requests that programs have announced here.
  package func setRequests(_ count: Int) { counter?.setRequests(count) }

  /// Sets the requests of this program, with their labels. A service counts them; without one, they count here.
  ///
  /// - Parameter date: The time of the change, on the monotonic clock.
  package func setRequests(_ requests: [UInt64: String?], at date: Duration) {
    link?.requests = requests
    counter?.setRequests(requests.count, at: date)
  }

  /// Starts to watch connections, and calls `body` when the last record has the current count.
  package func watchConnections(_ body: @escaping () -> Void) {
    guard let counter else { return body() }
    counter.watch { [unowned self] in
      addCount()
      body()
    }
  }

  /// Stops watching connections and UDP.
  package func restConnections() { counter?.rest() }

  /// Starts to count here. When this returns, the count is known.
  private func beginCounting() {
    guard let counter, !isCounting else { return }
    if !hasWarned { counter.warnOfUnseenPrograms() }
    hasWarned = true
    if !options.countsOnDemand { counter.watchNow() }
    isCounting = true
    activityReason = nil
  }

  /// The receiver of a count may change the count: if it finds that a client is gone, the client's requests end.
  private func addCount() {
    while isCounting, let reason = activityReason {
      activityReason = nil
      addActivity(because: reason)
    }
  }

  private func addActivity(because reason: EventRecord.ActivityReason) {
    guard !isFinished, var record = last, record.activity != activity else { return }
    record.event = .activity
    record.activity = activity
    record.activityReason = reason
    record.sequence = number + 1
    record.setDateToNow()
    add(record)
  }

  /// Returns the programs whose connections are in flight, or nil if these are not counted. This process searches /proc itself
  /// for at most `time`, even if a service counts, so that users see only what their own permissions allow.
  package func programs(of record: EventRecord, within time: Duration) -> [NamedCount]? {
    guard let connections = record.activity.connections else { return nil }
    if connections == 0 { return [] }
    if isCounting, let counter { return counter.programs(within: time) }
    var settings = options.activity
    settings.counts = .tcp
    let namer = namer ?? ActivityCounter(settings, on: loop, say: options.say) { _ in }
    self.namer = namer
    namer.watchNow()
    defer { namer.rest() }
    return namer.programs(within: time)
  }

  // MARK: The service

  private func connect() {
    linkUse = serviceUse
    if case .nothing = linkUse { return }
    let link = ServiceLink(
      on: loop, record: { [unowned self] in receive($0) }, lost: { [unowned self] in loseService() })
    if case .everything = linkUse {
      link.trafficInterval = options.trafficInterval
      link.signalChanges = wifi.signal
      link.wantsQuality = options.tellsQuality
    }
    self.link = link
    link.connect()
  }

  private func receive(_ record: EventRecord) {
    if isFinished { return }
    if record.event == .wifi { return receive(wifi: record) }
    if record.event == .traffic || record.event == .quality {
      if link?.sharesNetwork == true { figures?.receive(record, over: last?.path) }
      return
    }
    let reason = record.activityReason(after: last?.activity, hasLostService: hasLostService)
    hasLostService = false
    if isCounting {
      isCounting = false
      counter?.rest()
    }
    if counter != nil { hint(record.activity) }
    announced = record.activity
    switch linkUse {
    case .everything where link?.sharesNetwork == true:
      netlinkRetry?.stop()
      reachability?.stop()
      reachability = nil
      if last == nil { return add(record.asInitial) }
      if let next = successor(record, becauseOf: reason) { add(next) }
    default:
      guard last != nil else { return watchNetlink() }
      addActivity(because: reason)
    }
  }

  private func loseService() {
    guard !isFinished else { return }
    hasLostService = true
    figures?.serviceWasLost(last?.path)
    // The counts of the service are not known any more.
    announced = EventRecord.Activity()
    beginCounting()
    if reachability == nil { watchNetlink() } else { addActivity(because: .serviceLost) }
  }

  private func hint(_ activity: EventRecord.Activity) {
    guard !hasHinted, let sentence = options.activity.hint(besideService: activity) else { return }
    hasHinted = true
    options.say(sentence)
  }

  /// Returns the labels of the service's requests that this user may see. Waits at most 250 milliseconds for the response.
  package func labels(of record: EventRecord) -> [NamedCount] {
    guard link?.isConnected == true, record.activity.requests > 0 else { return [] }
    return ServiceStatistics.ofRunningService(within: Self.patience)?.labels ?? []
  }

  // MARK: Figures

  /// Passes on the last record again, with the current figures.
  private func addFigures(_ event: EventRecord.Event, _ moment: Moment) {
    if let record = lastRecord(as: event, moment.wall, moment.monotonic) { tell(record) }
  }

  /// Returns the last record with another event and date, and the newest figures. Nil if there is nothing to pass on.
  private func lastRecord(as event: EventRecord.Event, _ wall: Int64, _ monotonic: Int64) -> EventRecord? {
    guard !isFinished, var record = last else { return nil }
    figures?.set(&record)
    record.event = event
    (record.nanosecondsSince1970, record.monotonicNanoseconds) = (wall, monotonic)
    return record
  }

  /// Samples the quality of the link that carries the path. `isFirst` is true if nobody has sampled for a while.
  package func lookAtQuality(isFirst: Bool) -> LinkQuality? {
    last.flatMap { figures?.lookAtQuality(over: $0.path, isFirst: isFirst) }
  }

  // MARK: WiFi

  /// Sets which values of the WiFi network are reported from now on.
  ///
  /// - Returns: The current values; nil if they are not known.
  package func report(_ wifi: WiFiReporting) -> WiFiConnection? {
    self.wifi = wifi
    return reachability?.report(wifi)
  }

  private func addWiFi(_ path: NetworkPath, _ wall: Int64, _ monotonic: Int64) {
    guard var record = lastRecord(as: .wifi, wall, monotonic) else { return }
    record.path = path
    last = record
    tell(record)
  }

  /// Takes a WiFi record of a service. It is ignored if its path is not the one that was reported last.
  private func receive(wifi record: EventRecord) {
    let isLate = !record.path.saysTheSame(as: last?.path ?? record.path)
    // The first record is the response to this client.
    if reachability != nil || link?.sharesNetwork != true || isLate || record.path.reason == .initial { return }
    addWiFi(record.path, record.nanosecondsSince1970, record.monotonicNanoseconds)
  }

  // MARK: Records

  private func add(_ record: EventRecord) {
    if let probes { probes.add(record) } else { handOn(record) }
  }

  private func handOn(_ record: EventRecord) {
    number += 1
    var record = record
    if let now = EventRecord.LostInterface(record.path) {
      record.lost = record.event == .reachability && carrier?.kernelName != now.kernelName ? carrier : nil
      carrier = now
    } else if record.path.status == .notReachable, let carrier {
      record.lost = carrier
    }
    if figures?.areWanted == true { return handOnFigures(record) }
    // A path that is held makes the next change of a link copy all links, so it is held only if necessary.
    if counter != nil || link != nil || wifi.isWanted || options.rules != nil { last = record }
    tell(record)
  }

  private func handOnFigures(_ record: EventRecord) {
    var record = record
    figures?.follow(record)
    figures?.set(&record)
    last = record
    tell(record)
  }
}
