import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// Prints the state, then each change: one loop, one thread.
///
/// What it prints comes from a service where there is one, else from netlink; it changes over both ways, and prints a line
/// only if that says something else than the one before.
final class Follower {
  struct Options {
    var configuration = MonitorConfiguration()
    /// Whether each line lists every link.
    var listsInterfaces = false
    /// How many lines to print; nil for no end.
    var count: Int?
    /// Whether a service is asked; nil does without.
    var service: ServiceUse? = .everything
    /// What is counted as in flight where no service counts.
    var activity = ActivitySettings()
    /// Whether lines name the programs whose connections are in flight.
    var namesPrograms = false
    /// Run for each line; nil for none.
    var hook: Hook?
    /// How the internet is probed; nil does not.
    var probe: ProbeSettings?
    /// Whether the first line waits for the answer to a probe.
    var awaitsProbe = false
    /// Whether it is said on stderr what the kernel lacks.
    var saysWhatIsMissing = false
    /// What netlink says, and whether it is recorded.
    var input = NetlinkInput.kernel
    /// The trace that is played in the place of following the kernel; ``input`` is from it.
    var player: TracePlayer?
  }

  /// What a service is asked for.
  enum ServiceUse {
    case everything
    /// Its judgement of the path is not the one that is wanted.
    case activity
  }

  /// How long a service may take for its first line before netlink is read instead.
  private static let patience = Duration.milliseconds(250)

  /// As the last line said.
  private(set) var isReachable = false
  private let options: Options
  private let renderer: any LineRenderer
  private let loop: EventLoop
  private let output: StandardOutput
  private var link: ServiceLink?
  private var hooks: HookRunner?
  private var probes: ProbedLines?
  private var reachability: NetlinkReachability?
  private var records: UInt64 = 0
  private var lines = 0
  /// What was printed last, and what netlink or a service has said since.
  private var printed: EventRecord?
  private var activity = EventRecord.Activity()
  private var hasLostService = false
  /// Counts where no service does; nil where there is nothing to count without one.
  private var counter: ActivityCounter?
  private var isCounting = false
  private var hasCounted = false
  /// Looks at connections for their programs' names where a service counts them.
  private var namer: ActivityCounter?
  private var hasHinted = false
  private var hasSaidWhatIsMissing = false
  private var failure: (any Error)?

  init(_ options: Options, renderer: any LineRenderer) throws {
    self.options = options
    self.renderer = renderer
    output = try StandardOutput()
    loop = try EventLoop()
  }

  /// Whether the last line said that the internet is there; true where it is not probed.
  var hasInternet: Bool { probes?.hasInternet ?? true }

  /// Returns when the reader is gone or enough lines are printed.
  func run() throws {
    try output.whenReaderGoes(on: loop) { [unowned self] in loop.stop() }
    try renderer.prepare(on: loop)
    renderer.onFailure { [unowned self] error in stop(because: error) }
    try startChildren()
    options.input.onFailure { [unowned self] error in stop(because: error) }
    if options.activity.choice.countsConnections {
      counter = ActivityCounter(options.activity, on: loop) { [unowned self] reason in takeCount(because: reason) }
    }
    if options.namesPrograms { renderer.namePrograms { [unowned self] record in programs(of: record) } }
    if options.service != nil { renderer.nameRequests { [unowned self] record in labels(of: record) } }
    connect()
    if link?.isConnected == true {
      loop.schedule(after: Self.patience) { [unowned self] in
        if printed == nil, probes?.isHolding != true { watchAlone() }
      }
    } else {
      watchAlone()
    }
    if let player = options.player {
      reachability?.replay(player) { isFinished }
    } else if !isFinished {
      try loop.run()
    }
    reachability?.stop()
    link = nil
    counter?.rest()
    probes?.stop()
    if let failure {
      // The disk may be what has failed.
      try? renderer.printEnd(to: output)
      throw failure
    }
    try hooks?.finish()
  }

  private func startChildren() throws {
    guard options.hook != nil || options.probe != nil else { return }
    let children = try ChildEndings(on: loop)
    hooks = options.hook.map { HookRunner($0, on: loop, children) }
    guard let settings = options.probe else { return }
    probes = try ProbedLines(
      settings, holdsFirst: options.awaitsProbe, on: loop, children,
      handlers: .init(
        print: { [unowned self] record in print(record) }, failed: { [unowned self] error in stop(because: error) }))
  }

  private func connect() {
    guard options.service != nil else { return }
    let link = ServiceLink(
      on: loop,
      handlers: .init(record: { [unowned self] in take($0) }, lost: { [unowned self] in loseService() }))
    self.link = link
    link.start()
  }

  // MARK: Without a service

  private func watchAlone() {
    count()
    watchNetlink()
  }

  /// What is in flight is known when this returns.
  private func count() {
    guard let counter, !isCounting else { return }
    if !hasCounted { counter.warnOfUnseenPrograms() }
    hasCounted = true
    counter.watchNow()
    isCounting = true
    activity = counter.activity
  }

  private func stopCounting() {
    guard isCounting else { return }
    isCounting = false
    counter?.rest()
  }

  private func takeCount(because reason: EventRecord.ActivityReason) {
    guard isCounting, let counter, !isFinished else { return }
    activity = counter.activity
    printActivity(because: reason)
  }

  /// By looks of our own, whoever counts: so nobody learns more than his own rights let him.
  private func programs(of record: EventRecord) -> [EventRecord.ProgramCount]? {
    guard let connections = record.activity.connections else { return nil }
    if connections == 0 { return [] }
    if isCounting, let counter { return counter.programs(within: searchTime) }
    var settings = options.activity
    settings.choice = .tcp
    let namer = namer ?? ActivityCounter(settings, on: loop) { _ in }
    self.namer = namer
    namer.watchNow()
    defer { namer.rest() }
    return namer.programs(within: searchTime)
  }

  /// Of the requests that the service counts, as far as it tells this user. A line waits for the answer.
  private func labels(of record: EventRecord) -> [ServiceStatistics.Label] {
    guard link?.isConnected == true, record.activity.inFlight > (record.activity.connections ?? 0) else { return [] }
    return ServiceStatistics.ofRunningService(within: Self.patience)?.labels ?? []
  }

  /// How long /proc is searched for programs. Nothing else is to be done by who prints one line.
  private var searchTime: Duration { options.count == 1 ? .seconds(1) : .milliseconds(50) }

  // MARK: From netlink

  private func watchNetlink() {
    guard reachability == nil, !isFinished else { return }
    do {
      let reachability = try NetlinkReachability(
        on: NetlinkSource(on: loop, input: options.input), configuration: options.configuration,
        handlers: .init(
          publish: { [unowned self] path, change, moment in publish(path, change, moment) },
          fail: { [unowned self] error in stop(because: error) }))
      try reachability.start()
      self.reachability = reachability
      sayWhatIsMissing(reachability)
    } catch {
      stop(because: error)
    }
  }

  /// Once, however often netlink takes over from a service.
  private func sayWhatIsMissing(_ reachability: NetlinkReachability) {
    guard options.saysWhatIsMissing, !hasSaidWhatIsMissing else { return }
    hasSaidWhatIsMissing = true
    reachability.reportMissingFeatures()
  }

  private func publish(
    _ path: NetworkPath, _ change: ReachabilityMachine.Change, _ moment: Moment
  ) {
    if isFinished { return }
    if case .interfaces = change, !options.configuration.publishesInterfaceChanges { return }
    var record = EventRecord(
      sequence: records + 1, nanosecondsSince1970: moment.wall, monotonicNanoseconds: moment.monotonic,
      event: .init(change), path: path)
    record.activity = activity
    record.listsInterfaces = options.listsInterfaces
    // The first path after a service has gone is no news unless it differs.
    if case .initial = change, let printed {
      let next = record.successor(of: printed, becauseOf: hasLostService ? .serviceLost : .requestEnded)
      if let next { tell(next) }
      return
    }
    tell(record)
  }

  // MARK: From a service

  private func take(_ record: EventRecord) {
    if isFinished { return }
    let reason = activityReason(of: record)
    hasLostService = false
    stopCounting()
    if counter != nil, record.activity.connections == nil { hint() }
    activity = record.activity
    switch options.service {
    case .everything where link?.sharesNetwork == true:
      reachability?.stop()
      reachability = nil
      guard let printed else { return tell(record.asInitial) }
      if let next = record.successor(of: printed, becauseOf: reason) { tell(next) }
    default:
      guard printed != nil else { return watchNetlink() }
      printActivity(because: reason)
    }
  }

  /// Why the activity of `record` is not what was printed; a line that is about something else does not say so itself.
  private func activityReason(of record: EventRecord) -> EventRecord.ActivityReason {
    guard record.event != .activity, let known = printed?.activity else { return record.activityReason }
    if record.activity.inFlight > known.inFlight { return .requestBegan }
    if hasLostService { return .serviceLost }
    if record.activity.inFlight < known.inFlight { return .requestEnded }
    return record.activity.state.isVisible ? .activationDelay : .completionDelay
  }

  private func loseService() {
    guard !isFinished else { return }
    hasLostService = true
    // Nobody counts any more.
    activity = EventRecord.Activity()
    count()
    if reachability == nil { watchNetlink() } else { printActivity(because: .serviceLost) }
  }

  /// Its choice holds for all who ask it, so that all show the same.
  private func hint() {
    guard !hasHinted else { return }
    hasHinted = true
    CommandFailure.report(
      "the service does not count TCP connections; start it with --activity \(options.activity.choice.rawValue), or add "
        + "--no-service here")
  }

  private func printActivity(because reason: EventRecord.ActivityReason) {
    guard var record = printed, record.activity != activity else { return }
    let moment = Moment.now
    record.event = .activity
    record.activity = activity
    record.activityReason = reason
    record.sequence = records + 1
    record.nanosecondsSince1970 = moment.wall
    record.monotonicNanoseconds = moment.monotonic
    tell(record)
  }

  // MARK: Printing

  /// A path, or something else that is new.
  private func tell(_ record: EventRecord) {
    if let probes { probes.tell(record) } else { print(record) }
  }

  private func print(_ record: EventRecord) {
    records += 1
    if renderer.shows(record) { lines += 1 }
    isReachable = record.path.verdict.status.isReachable
    // Without a service or a count there is nothing to compare it with.
    if options.service != nil || counter != nil { printed = record }
    do throws(CommandFailure) {
      try renderer.print(record, to: output)
    } catch {
      stop(because: error)
    }
    if let hooks, failure == nil { hooks.run(record) }
    if isFinished { loop.stop() }
  }

  private func stop(because error: any Error) {
    failure = failure ?? error
    loop.stop()
  }

  private var isFinished: Bool {
    output.isReaderGone || failure != nil || options.count.map { lines >= $0 } ?? false
  }
}

extension EventRecord.Event {
  init(_ change: ReachabilityMachine.Change) {
    switch change {
    case .initial: self = .initial
    case .reachability: self = .reachability
    case .interfaces: self = .interfaces
    }
  }
}

extension EventRecord {
  /// This state as news for somebody who knows another one; nil if it is none.
  func successor(of known: EventRecord, becauseOf reason: ActivityReason) -> EventRecord? {
    var next = self
    if !path.saysTheSame(as: known.path) {
      next.event = .reachability
      // "initial" is for the first line.
      if path.reason == .initial { next.path = path.with(reason: .resynced) }
      return next
    }
    guard activity != known.activity else { return nil }
    next.event = .activity
    next.activityReason = reason
    return next
  }
}

extension NetworkPath {
  /// Equal in all that a line says.
  func saysTheSame(as other: NetworkPath) -> Bool {
    func says(_ path: FamilyPath?) -> [IPAddress?] { [path?.address, path?.gateway] }
    return status == other.status && medium == other.medium && verdict.interfaceName == other.verdict.interfaceName
      && interfaceIndex == other.interfaceIndex && isExpensive == other.isExpensive && says(ipv4) == says(other.ipv4)
      && says(ipv6) == says(other.ipv6) && vpn?.kernelName == other.vpn?.kernelName && vpn?.kind == other.vpn?.kind
      && vpn?.isCarrierKnown == other.vpn?.isCarrierKnown && wifi?.ssid == other.wifi?.ssid
  }
}
