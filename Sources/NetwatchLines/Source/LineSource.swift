import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// Where all lines come from: records of the path, of what is in flight, and of what a probe has found, each complete state,
/// with a number and a date. One loop, one thread.
///
/// They come from a service where there is one and it is asked, else from netlink and from connections that are counted here; the
/// source changes over both ways, and hands on a record only if it says something else than the one before.
package final class LineSource {
  /// How long a service may take for its first line before netlink is read instead.
  private static let patience = Duration.milliseconds(250)

  private let loop: EventLoop
  private let options: Options
  private let tell: (EventRecord) -> Void
  private(set) var reachability: NetlinkReachability?
  private var probes: ProbeAnnotator?
  private var link: ServiceLink?
  /// Counts where no service does; nil where there is nothing to count without one.
  private var counter: ActivityCounter?
  private var isCounting = false
  /// Looks at connections for their programs' names where a service counts them.
  private var namer: ActivityCounter?
  /// Nil until the end of `init`.
  private var figures: FigureWatch?
  /// What is told of the WiFi network.
  private var wifi: WiFiReporting
  /// How many records were handed on.
  private var number: UInt64 = 0
  /// The one that was handed on last; nil where nothing is ever compared with it.
  private var last: EventRecord?
  /// What a service has said last.
  private var announced = EventRecord.Activity()
  /// Why what is counted here has changed in this turn of the loop; nil if it has not.
  private var activityReason: EventRecord.ActivityReason?
  private var hasLostService = false
  /// What has been said on stderr, once.
  private var hasHinted = false
  private var hasSaidWhatIsMissing = false
  private var hasWarned = false
  private var isFinished = false
  /// What has made it impossible to go on.
  package private(set) var failure: (any Error)?

  /// - Parameter tell: is given each record, from within ``start()`` and ``run()``.
  package init(_ options: Options, on loop: EventLoop, tell: @escaping (EventRecord) -> Void) throws {
    self.options = options
    wifi = options.configuration.wifi
    self.loop = loop
    self.tell = tell
    options.input.onFailure { [unowned self] error in fail(error) }
    if let probe = options.probe {
      probes = try ProbeAnnotator(
        probe, on: loop, say: options.say,
        tell: { [unowned self] record in
          var record = record
          // A service has numbers of its own, and records of ours are between them.
          record.sequence = number + 1
          handOn(record)
        }, begins: { [unowned self] in figures?.probeBegins() }, failed: { [unowned self] in fail($0) })
    }
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

  /// Asks the service, or lists everything and hands on the first record.
  ///
  /// - Throws: what makes it impossible to go on.
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
    guard options.tellsFirstAtOnce, number == 0 else { return }
    number += 1
    tell(.unresolved(sequence: number))
  }

  /// Hands on records until ``finish()``, or the end of the trace that is played.
  ///
  /// - Throws: what has been given to ``fail(_:)``, by whomever.
  package func run() throws {
    if let player = options.player {
      reachability?.replay(player, until: { isFinished }, sample: figures?.sample, look: figures?.look)
    } else if !isFinished {
      try loop.run()
    }
    if let failure { throw failure }
  }

  /// Leaves the loop, and ends the probe that runs.
  package func stop() {
    reachability?.stop()
    link = nil
    counter?.rest()
    probes?.stop()
    figures?.stop()
  }

  /// Hands on nothing any more; ``run()`` returns.
  package func finish() {
    isFinished = true
    loop.stop()
  }

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
    var configuration = options.configuration
    configuration.wifi = wifi
    do {
      let reachability = try NetlinkReachability(
        on: NetlinkSource(on: loop, input: options.input), configuration: configuration,
        publish: { [unowned self] path, change, moment in publish(path, change, moment) },
        fail: { [unowned self] error in fail(error) })
      self.reachability = reachability
      try reachability.start()
      reportMissingFeatures()
    } catch {
      reachability = nil
      fail(error)
    }
  }

  /// Once, however often netlink takes over from a service.
  private func reportMissingFeatures() {
    guard options.saysWhatIsMissing, !hasSaidWhatIsMissing else { return }
    hasSaidWhatIsMissing = true
    for feature in reachability?.missingFeatures ?? [] { options.say(feature.loss) }
  }

  private func publish(_ path: NetworkPath, _ change: ReachabilityMachine.Change, _ moment: Moment) {
    if isFinished { return }
    if case .wifi = change { return addWiFi(path, moment.wall, moment.monotonic) }
    if case .interfaces = change {
      figures?.linksChanged(path, at: moment)
      if !options.configuration.publishesInterfaceChanges { return }
    }
    var record = EventRecord(
      sequence: number + 1, nanosecondsSince1970: moment.wall, monotonicNanoseconds: moment.monotonic,
      event: .init(change), path: path)
    record.activity = activity
    record.listsInterfaces = options.listsInterfaces
    // The first path after a service has gone is no news unless it differs.
    if case .initial = change, let last {
      if let next = record.successor(of: last, becauseOf: hasLostService ? .serviceLost : .requestEnded) {
        add(next)
      } else if let signal = path.wifi?.signal, wifi.signal?.hasNews(signal, after: last.path.wifi?.signal) == true {
        addWiFi(path.with(reason: .signalChanged), moment.wall, moment.monotonic)
      }
      return
    }
    add(record)
  }

  /// Reads everything from the kernel again.
  package func resync() { reachability?.resync() }

  package var statistics: MonitorStatistics { reachability?.statistics ?? MonitorStatistics() }

  // MARK: What is in flight

  private var activity: EventRecord.Activity { isCounting ? counter?.activity ?? announced : announced }

  /// How many requests programs have announced here.
  package func setRequests(_ count: Int) { counter?.setRequests(count) }

  /// The requests of this program, with their labels: a service is told of them, and where none counts, they count here.
  ///
  /// - Parameter date: The time at which that came about.
  package func setRequests(_ requests: [UInt64: String?], at date: Duration) {
    link?.requests = requests
    counter?.setRequests(requests.count, at: date)
  }

  /// Begins to look at connections, and calls `body` when the last record says what is in flight.
  package func watchConnections(_ body: @escaping () -> Void) {
    guard let counter else { return body() }
    counter.watch { [unowned self] in
      addCount()
      body()
    }
  }

  /// Nobody wants to know about connections any more.
  package func restConnections() { counter?.rest() }

  /// What is in flight is known when this returns.
  private func beginCounting() {
    guard let counter, !isCounting else { return }
    if !hasWarned { counter.warnOfUnseenPrograms() }
    hasWarned = true
    if !options.countsOnDemand { counter.watchNow() }
    isCounting = true
    activityReason = nil
  }

  /// Who hears of a count may change it: a client of ours that turns out to be gone takes its requests with it.
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

  /// The programs whose connections are in flight, by looks of our own, whoever counts: so nobody learns more than his own
  /// rights let him.
  ///
  /// - Parameter time: how long /proc may be searched for them.
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
    if case .nothing = options.service { return }
    let link = ServiceLink(
      on: loop, record: { [unowned self] in receive($0) }, lost: { [unowned self] in loseService() })
    if case .everything = options.service {
      link.trafficInterval = options.trafficInterval
      link.signalChanges = wifi.signal
      link.wantsQuality = options.tellsQuality
    }
    self.link = link
    // If nothing tells of a service that comes later, netlink is enough.
    try? link.start()
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
    switch options.service {
    case .everything where link?.sharesNetwork == true:
      reachability?.stop()
      reachability = nil
      guard let last else { return add(record.asInitial) }
      if let next = record.successor(of: last, becauseOf: reason) { add(next) }
    default:
      guard last != nil else { return watchNetlink() }
      addActivity(because: reason)
    }
  }

  private func loseService() {
    guard !isFinished else { return }
    hasLostService = true
    figures?.serviceWasLost(last?.path)
    // Nobody counts any more.
    announced = EventRecord.Activity()
    beginCounting()
    if reachability == nil { watchNetlink() } else { addActivity(because: .serviceLost) }
  }

  private func hint(_ activity: EventRecord.Activity) {
    guard !hasHinted, let sentence = options.activity.hint(besideService: activity) else { return }
    hasHinted = true
    options.say(sentence)
  }

  /// Labels of the requests that the service counts, as far as it tells this user. Waits for the answer.
  package func labels(of record: EventRecord) -> [NamedCount] {
    guard link?.isConnected == true, record.activity.requests > 0 else { return [] }
    return ServiceStatistics.ofRunningService(within: Self.patience)?.labels ?? []
  }

  // MARK: Figures

  /// Tells the last record again, with the figures of this moment.
  private func addFigures(_ event: EventRecord.Event, _ moment: Moment) {
    if let record = lastRecord(as: event, moment.wall, moment.monotonic) { tell(record) }
  }

  /// The last record with another event and date, and the newest figures. Nil if there is nothing to tell.
  private func lastRecord(as event: EventRecord.Event, _ wall: Int64, _ monotonic: Int64) -> EventRecord? {
    guard !isFinished, var record = last else { return nil }
    figures?.set(&record)
    record.event = event
    (record.nanosecondsSince1970, record.monotonicNanoseconds) = (wall, monotonic)
    return record
  }

  /// Looks how well the link works that carries the traffic, for somebody else than the lines.
  ///
  /// - Parameter isFirst: nobody has looked for a while.
  package func lookAtQuality(isFirst: Bool) -> LinkQuality? {
    last.flatMap { figures?.lookAtQuality(over: $0.path, isFirst: isFirst) }
  }

  // MARK: WiFi

  /// What is told of the WiFi network from now on.
  ///
  /// - Returns: what there is to tell now.
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

  /// What a service says of a path that is not the one that was told is too late, or too early.
  private func receive(wifi record: EventRecord) {
    let isLate = !record.path.saysTheSame(as: last?.path ?? record.path)
    // The first one is its answer to us.
    if reachability != nil || link?.sharesNetwork != true || isLate || record.path.reason == .initial { return }
    addWiFi(record.path, record.nanosecondsSince1970, record.monotonicNanoseconds)
  }

  // MARK: Records

  private func add(_ record: EventRecord) {
    if let probes { probes.add(record) } else { handOn(record) }
  }

  private func handOn(_ record: EventRecord) {
    number += 1
    if figures?.areWanted == true { return handOnFigures(record) }
    // Whoever holds a path makes the next change of a link a copy of them all.
    if counter != nil || link != nil || wifi.isWanted { last = record }
    tell(record)
  }

  /// Apart, because a record that is not changed is not copied.
  private func handOnFigures(_ record: EventRecord) {
    var record = record
    figures?.follow(record)
    figures?.set(&record)
    last = record
    tell(record)
  }
}
