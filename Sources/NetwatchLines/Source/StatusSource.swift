import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// The source of all lines: records of the path, of what is in flight, of figures and of the results of probes. Each record is
/// complete state, with a number and a date. The source belongs to one loop and its thread.
///
/// A `LocalStatus` and a `RemoteStatus` report what they know, and a `StatusMerger` makes one sequence of it. A
/// `ProbeAnnotator` adds the results of probes, and `Figures` adds the figures.
package final class StatusSource {
  /// The time that a service has for its first line before netlink is read instead.
  private static let patience = Duration.milliseconds(250)

  private let loop: EventLoop
  private let options: StatusOptions
  private let emit: (EventRecord) -> Void
  private var local: LocalStatus?
  private var remote: RemoteStatus?
  private var merger: StatusMerger
  private var probes: ProbeAnnotator?
  /// The URL of the probe that a rule has asked for; nil if none has.
  private var ruledProbe: String?
  /// Nil until the end of `init`.
  private var figures: Figures?
  /// Nil unless the reader wants what the network says about itself.
  private var announcements: AnnouncementWatch?
  /// Nil unless the portal API of the network is asked.
  private var portals: PortalRunner?
  /// Nil unless the reader wants what is known of the cable.
  private var cables: CableReader?
  /// Nil unless the reader wants each uplink judged.
  private var uplinks: UplinkWatch?
  /// Nil unless a probe asks over each uplink.
  private var uplinkProbes: UplinkProbes?
  /// Whether the first line waits for the answers of the portal API and of the name servers.
  private var holdsFirstLine: Bool
  /// The record that waits for those answers; nil if none does.
  private var heldRecord: EventRecord?
  private var isFinished = false
  /// The error that ended the source; nil if there is none.
  package private(set) var failure: (any Error)?
  /// The closure that is called when links have changed, but not the path. Default: nothing.
  package var linksChanged: (NetworkPath, EventTimestamp) -> Void = { _, _ in }

  /// Creates a source that does not read anything yet.
  ///
  /// - Parameters:
  ///   - options: The options of the source.
  ///   - loop: The loop that the source belongs to.
  ///   - emit: The closure that gets each record, from within ``start()`` and ``run()``.
  /// - Throws: An error if probes are required and cannot be made, or the kernel refuses a socket.
  package init(_ options: StatusOptions, on loop: EventLoop, emit: @escaping (EventRecord) -> Void) throws {
    self.options = options
    self.loop = loop
    self.emit = emit
    holdsFirstLine = options.portal?.holdsFirstLine ?? options.probe?.holdsFirstLine ?? false
    merger = StatusMerger(options.serviceUse, signalChanges: options.configuration.wifi.signal)
    options.input.onFailure { [unowned self] error in fail(error) }
    ruledProbe = options.probeByRule == nil ? nil : options.rules?.rules.probe
    if let probe = options.probe { probes = try makeProbes(probe) }
    let local = LocalStatus(
      options, on: loop, failed: { [unowned self] error in fail(error) },
      emit: { [unowned self] in
        // Its links may differ from those of the last path, though nothing else does.
        figures?.followTraffic(of: $0.path)
        merge(.local($0))
      })
    self.local = local
    figures = try Figures(
      options, on: loop,
      addresses: { [unowned self] in local.localAddresses ?? merger.sequence.last?.path.localAddresses },
      emit: { [unowned self] in emitFigures($0, at: $1) })
    figures?.onAnswer { [unowned self] in release() }
    // A trace has what the recording found out.
    if options.player == nil { try beginFinding() }
    local.linksChanged = { [unowned self] in updateLinks($0, at: $1) }
    remote = RemoteStatus(
      options, on: loop, emit: { [unowned self] in take($0, sharesNetwork: $1) },
      lost: { [unowned self] in loseService() })
  }

  private func beginFinding() throws {
    let configuration = options.configuration
    if configuration.hearsAnnouncements { try hearAnnouncements() }
    if configuration.judgesUplinks {
      uplinks = try UplinkWatch(on: loop, includes: configuration.includesInterface) { [unowned self] in
        found(.uplinkChanged, at: $0)
      }
      if let probe = options.probe, probe.holdsFirstLine {
        uplinkProbes = UplinkProbes(probe, on: loop, warn: options.warn) { [unowned self] in release() }
      }
    }
    if configuration.readsCable {
      do { cables = try CableReader() } catch { options.warn(CableReader.absence) }
    }
    if let portal = options.portal { try askPortal(portal) }
  }

  deinit { stop() }

  // MARK: From start to finish

  /// Connects to the service, or lists everything and passes on the first record.
  ///
  /// - Throws: The error that ended the source.
  package func start() throws {
    remote?.connect(for: options.serviceUse)
    if hasService, !options.tellsFirstAtOnce {
      loop.schedule(after: Self.patience) { [unowned self] in
        if merger.sequence.last == nil, probes?.isHolding != true { merge(.noService) }
      }
    } else {
      merge(.noService)
    }
    if let failure { throw failure }
    if !isFinished { watchFiles() }
    try options.network?.whenEnded(on: loop) { [unowned self] in found(.namespaceEnded, at: .now) }
    if options.tellsFirstAtOnce, merger.sequence.isEmpty { emit(merger.sequence.appendUnresolved()) }
  }

  /// Has the kernel report changes of files. A source that has told its only record does without, because taking that back takes up
  /// to 20 milliseconds.
  private func watchFiles() {
    remote?.waitForService()
    figures?.watchFiles()
    guard let files = options.rules, options.player == nil else { return }
    files.follow(on: loop) { [unowned self] in use(files.rules) }
  }

  /// Passes on records until ``finish()``, or until the end of the trace that is replayed.
  ///
  /// - Throws: The error that was passed to ``fail(_:)``, or that of the loop.
  package func run() throws {
    if let player = options.player {
      local?.replay(player, until: { isFinished }, figures) { [unowned self] in found($0, at: $1) }
    } else if !isFinished {
      try loop.run()
    }
    if let failure { throw failure }
  }

  /// Leaves the loop, and ends the running probe.
  package func stop() {
    options.rules?.stop()
    local?.stop()
    remote?.stop()
    probes?.stop()
    figures?.stop()
    portals?.stop()
    announcements?.stop()
    uplinks?.stop()
    uplinkProbes?.stop()
  }

  /// Makes ``run()`` return. No record is passed on any more.
  package func finish() {
    isFinished = true
    loop.stop()
  }

  /// Passes on that nothing more can be known, and ends the source.
  private func endWithNetwork(at moment: EventTimestamp) {
    guard !isFinished else { return }
    emit(
      EventRecord(
        sequence: merger.sequence.nextNumber, nanosecondsSince1970: moment.wall,
        monotonicNanoseconds: moment.monotonic, event: .reachability,
        path: NetworkPath(verdict: .unknown, reason: .namespaceEnded, interfaces: InterfaceTable())))
    finish()
  }

  /// Ends the source with an error, which ``run()`` throws. The first error counts.
  package func fail(_ error: any Error) {
    failure = failure ?? error
    finish()
  }

  // MARK: Records

  private func merge(_ input: StatusMerger.Input) {
    for output in merger.handle(input, at: .now) where !isFinished {
      switch output {
      case .record(let record):
        if record.event == .initial || record.event == .reachability {
          cables?.follow(record.path, after: record.lost)
          uplinks?.follow(record.path)
        }
        addWithProbes(record)
      case .update(let record): emitWithFigures(record)
      case .watch(true): local?.watch(triesAgain: !merger.sequence.isEmpty)
      case .watch(false): local?.stopWatching()
      case .count(true):
        local?.startCounting()
        merge(.counted(local?.activity ?? .init()))
      case .count(false): local?.stopCounting()
      }
    }
  }

  /// Passes on that links have changed, but not the path, and what else that changes.
  private func updateLinks(_ path: NetworkPath, at moment: EventTimestamp) {
    // What is told again of the path is told of these links.
    merger.sequence.updateLinks(path)
    announcements?.follow(path)
    portals?.follow(announcements?.announcements, on: path)
    figures?.linksChanged(path, at: moment)
    if options.tellsEndings, merger.sequence.hasNewEnding(path) { addAgain(at: moment) }
    if options.input.isNews(.uplinkChanged, { uplinks?.follow(path) == true }) {
      addAgain(because: .uplinkChanged, at: moment)
    }
    if options.input.isNews(.cableChanged, { cables?.follow(path, after: merger.sequence.last?.lost) == true }) {
      addAgain(because: .cableChanged, at: moment)
    }
    linksChanged(path, moment)
  }

  private func addWithProbes(_ record: EventRecord) {
    if let probes { probes.add(record) } else { add(record) }
  }

  private func add(_ record: EventRecord) {
    let record = merger.sequence.append(record)
    announcements?.follow(record.path)
    figures?.follow(record)
    if !holdsFirstLine { emitWithFigures(record) }
    portals?.follow(announcements?.announcements, on: record.path)
    guard holdsFirstLine else { return }
    uplinkProbes?.ask(over: uplinks?.uplinks ?? [])
    heldRecord = record.asInitial
    release()
  }

  /// Passes on the last record again, with the current figures.
  private func emitFigures(_ event: EventRecord.Event, at moment: EventTimestamp) {
    // The record that is held gets the figures when it is passed on.
    guard !isFinished, heldRecord == nil, let record = merger.sequence.repeated(as: event, at: moment) else { return }
    emitWithFigures(record)
  }

  private func emitWithFigures(_ record: EventRecord) {
    var record = record
    figures?.set(&record)
    record.announcements = announcements?.announcements
    record.announcements?.captivePortal = portals?.portal
    (record.cable, record.tellsCable) = (cables?.cable, options.configuration.readsCable)
    record.uplinks = uplinks?.uplinks.map { uplink in
      var uplink = uplink
      let internet = uplink.isInUse ? record.internet : uplinkProbes?.answers[uplink.interfaceIndex]
      if let internet { uplink.set(internet) }
      return uplink
    }
    if let findings = options.input.findings({ record.findingsForTrace }) { record.readFindings(findings) }
    emit(record)
  }

  // MARK: The service

  /// Whether there is a connection to a service.
  package var hasService: Bool { remote?.isConnected ?? false }

  private func take(_ record: EventRecord, sharesNetwork: Bool) {
    if isFinished { return }
    switch record.event {
    case .traffic, .quality:
      if sharesNetwork { figures?.receive(record, over: merger.sequence.last?.path) }
    default: merge(.service(record, sharesNetwork: sharesNetwork))
    }
  }

  private func loseService() {
    guard !isFinished else { return }
    figures?.serviceWasLost(merger.sequence.last?.path)
    merge(.serviceLost)
  }

  /// Sets the requests of this program. A service counts them; without one, they count here.
  ///
  /// - Parameter date: The time of the change, on the monotonic clock.
  package func setRequests(_ requests: RunningRequests, at date: Duration) {
    remote?.requests = requests
    local?.setRequests(requests.count, at: date)
  }

  /// Returns the labels of the service's requests that this user may see. Waits at most 250 milliseconds for the response.
  package func labels(of record: EventRecord) -> [NamedCount] {
    record.activity.requests > 0 ? remote?.labels(within: Self.patience) ?? [] : []
  }

  // MARK: Rules

  /// What is wrong with the files of rules as they were read last.
  package var ruleFaults: [NetworkRules.Fault] { options.rules?.faults ?? [] }

  private func use(_ rules: NetworkRules) {
    if isFinished { return }
    let use = options.serviceUse
    if let remote, remote.use != use {
      let wasConnected = remote.isConnected
      // A service that has told figures does not any more.
      if case .everything = remote.use { figures?.serviceWasLost(merger.sequence.last?.path) }
      remote.connect(for: use)
      remote.waitForService()
      if wasConnected, !remote.isConnected { loseService() }
      merge(.use(use))
    }
    local?.use(rules)
    replaceProbe(rules.probe)
    if options.asksPortalByRule { replacePortal(rules.asksPortal) }
  }

  // MARK: Probes

  private func makeProbes(_ settings: ProbeSettings) throws -> ProbeAnnotator {
    try ProbeAnnotator(
      settings, on: loop, warn: options.warn, emit: { [unowned self] in addWithOwnNumber($0) },
      resultChanged: { [unowned self] in addAgain(because: .internetChanged, at: .now) },
      begins: { [unowned self] in figures?.probeBegins() }, failed: { [unowned self] in fail($0) })
  }

  /// Passes on what was found out apart from netlink.
  private func found(_ reason: ReachabilityReason, at moment: EventTimestamp) {
    options.input.noteFound(reason, moment)
    if reason == .namespaceEnded { endWithNetwork(at: moment) } else { addAgain(because: reason, at: moment) }
  }

  /// Adds the last record again, because something else is known of its path. Without a reason, and while nothing is reachable, the path
  /// keeps its own.
  private func addAgain(because reason: ReachabilityReason? = nil, at moment: EventTimestamp) {
    guard !isFinished, var record = merger.sequence.repeated(as: .reachability, at: moment) else { return }
    if let reason, record.path.isReachable { record.path = record.path.with(reason: reason) }
    probes?.annotate(&record)
    addWithOwnNumber(record)
  }

  /// Adds a record with the next number of this source. A service has its own numbers, and records of probes are between
  /// them.
  private func addWithOwnNumber(_ record: EventRecord) {
    var record = record
    record.sequence = merger.sequence.nextNumber
    add(record)
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
      options.warn("\(error)")
      probes = nil
    }
    guard var record = held ?? merger.sequence.repeated(as: .reachability, at: .now) else { return }
    if held == nil {
      record.path = record.path.with(reason: .rulesChanged)
      record.internet = nil
      record.portalURL = nil
      record.sequence = merger.sequence.nextNumber
    }
    addWithProbes(record)
  }

  // MARK: What the network says

  private func hearAnnouncements() throws {
    announcements = try AnnouncementWatch(on: loop) { [unowned self] in found(.announcementChanged, at: $0) }
  }

  private func askPortal(_ settings: PortalSettings) throws {
    do throws(PlainError) {
      portals = try PortalRunner(
        settings, on: loop, nameServers: { [unowned self] in announcements?.nameServers ?? [] }, warn: options.warn,
        concluded: { [unowned self] in portalHasAnswered($0) })
    } catch {
      guard !settings.isRequired else { throw error }
      options.warn(error.description)
    }
    if announcements == nil { try hearAnnouncements() }
  }

  private func portalHasAnswered(_ reason: ReachabilityReason?) {
    if holdsFirstLine { return release() }
    guard let reason else { return }
    // The network has just let this machine through, or does not any more.
    if case .announcementChanged = reason { probes?.probeAgain() }
    found(reason, at: .now)
  }

  /// Passes the first record on, unless an answer for it is still to come.
  private func release() {
    guard !isFinished, let record = heldRecord, portals?.awaitsAnswer != true, figures?.isAsking != true,
      uplinkProbes?.isAsking != true
    else { return }
    (holdsFirstLine, heldRecord) = (false, nil)
    emitWithFigures(record)
  }

  private func replacePortal(_ isWanted: Bool) {
    guard !isFinished, isWanted != (portals != nil) else { return }
    if isWanted {
      var settings = PortalSettings()
      settings.isRequired = false
      do { try askPortal(settings) } catch { return options.warn("\(error)") }
      merger.sequence.last.map { announcements?.follow($0.path) }
    } else {
      portals?.stop()
      portals = nil
      if !options.configuration.hearsAnnouncements {
        announcements?.stop()
        announcements = nil
      }
    }
    addAgain(because: .rulesChanged, at: .now)
  }

  // MARK: Questions

  /// Returns the programs whose connections are in flight, or nil if these are not counted. This process searches /proc itself
  /// for at most `time`, even if a service counts, so that users see only what their own permissions allow.
  package func programs(of record: EventRecord, within time: Duration) -> [NamedCount]? {
    record.activity.connections.map { $0 == 0 ? [] : local?.programs(within: time) ?? [] }
  }

  /// Returns how the current verdict has come about. Throws if netlink is not read or fails.
  package func explain() throws -> PathExplanation {
    guard let local else { throw PlainError("netlink is not read") }
    return try local.explain()
  }

  /// Returns the ID of the network that carries the last path from netlink; nil while it is not known.
  ///
  /// - Parameter key: The secret key of this machine.
  package func network(key: [UInt8]) -> NetworkIdentity? { local?.network(key: key) }
}
