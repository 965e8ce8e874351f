import Netwatch
import NetwatchEventLoop

/// Adds to the paths of a monitor what its configuration asks for: whether the internet answers, the stages of the way there, the
/// quality of the link, and the ID of the network. It also adds the interface that was lost.
///
/// It belongs to the thread of its loop. Nothing is created for what is not asked for.
final class PathFindings {
  /// The time between two looks at the table of neighbours, as long as the gateway's hardware address is not known. The kernel learns
  /// it some time after the path has changed, and no path is published then.
  private static let identityInterval = Duration.seconds(1)

  private let loop: EventLoop
  private let publish: (NetworkPath, ReachabilityMachine.Change) -> Void
  /// The last path, without findings.
  private var path: NetworkPath?
  private var findings = NetworkPath.Findings()
  private var carrier = CarrierMemory()
  private var endings = EndingMemory()
  private let tellsEndings: Bool

  private var quality: QualitySampler?
  private var qualityNews = QualityNews()

  private var stages: StageWatch?
  private var announcements: AnnouncementWatch?

  private var cables: CableReader?
  private var uplinks: UplinkWatch?

  private let portalAPI: (any PortalAPIClient)?
  private var portals: PortalSchedule?
  private var question: (number: Int, task: Task<Void, Never>)?

  private let probe: (any InternetProbe)?
  private var probes: ProbeSchedule?
  private var request: (number: Int, task: Task<Void, Never>)?

  private let networkKey: [UInt8]?
  private let networkFacts: () -> NetworkIdentity.Facts?
  private lazy var identityTimer = LoopTimer(on: loop) { [unowned self] in identifyAgain() }

  /// Creates the parts that the configuration asks for.
  ///
  /// - Parameters:
  ///   - networkFacts: Returns what is known of the network of the last path; nil as long as that is not enough.
  ///   - publish: The closure that gets each path with its findings.
  /// - Throws: A `SystemError` if the kernel refuses a socket, or a `PlainError` if there is no key for IDs of networks.
  init(
    _ configuration: MonitorConfiguration, on loop: EventLoop, networkFacts: @escaping () -> NetworkIdentity.Facts?,
    publish: @escaping (NetworkPath, ReachabilityMachine.Change) -> Void
  ) throws {
    self.loop = loop
    self.publish = publish
    self.networkFacts = networkFacts
    probe = configuration.probe
    portalAPI = configuration.portalAPI
    tellsEndings = configuration.wifi.includesDetails
    let report = configuration.report ?? { _ in }
    networkKey = configuration.identifiesNetwork ? try NetworkKey.read(warn: report) : nil
    if configuration.measuresQuality {
      quality = QualitySampler(
        on: loop, addresses: { [unowned self] in path?.localAddresses }, warn: report,
        emit: { [unowned self] in take($0, at: $1) })
    }
    if configuration.watchesStages {
      stages = try StageWatch(
        on: loop, probing: probe?.host.flatMap { try? HostName($0) }, includes: configuration.includesInterface,
        nudges: configuration.nudgesGateway, tellsEach: true, emit: { [unowned self] _ in republish() })
      stages?.watchConfiguration()
    }
    if configuration.hearsAnnouncements || portalAPI != nil {
      announcements = try AnnouncementWatch(on: loop) { [unowned self] _ in
        followPortal()
        republish(because: .announcementChanged)
      }
    }
    if configuration.judgesUplinks {
      uplinks = try UplinkWatch(on: loop, includes: configuration.includesInterface) { [unowned self] _ in
        republish(because: .uplinkChanged)
      }
    }
    if configuration.readsCable {
      do { cables = try CableReader() } catch { report(CableReader.absence) }
    }
    if portalAPI != nil {
      portals = PortalSchedule(
        on: loop, start: { [unowned self] in ask($0, $1, over: $2) },
        kill: { [unowned self] number in if question?.number == number { endQuestion() } },
        concluded: { [unowned self] reason in
          guard let reason else { return }
          // The network has just let this machine through, or does not any more.
          if reason == .announcementChanged { probes?.handle(.doubted) }
          republish(because: reason)
        })
    }
    if probe != nil {
      var timing = ProbeMachine.Timing()
      timing.interval = configuration.probeInterval.asDelay
      probes = ProbeSchedule(
        timing, on: loop, start: { [unowned self] in ask($0, over: $1) },
        kill: { [unowned self] number in if request?.number == number { endRequest() } },
        answered: { [unowned self] isNews in if isNews { republish(because: .internetChanged) } })
    }
  }

  deinit {
    endRequest()
    endQuestion()
  }

  /// Publishes a path with what is known over it, and finds out what is not.
  func take(_ path: NetworkPath, _ change: ReachabilityMachine.Change) {
    self.path = path
    if change == .carriers { return publish(path.with(findings, reason: path.reason), change) }
    if change == .initial || change == .reachability {
      findings.lost = carrier.loss(in: path, isChange: change == .reachability)
      findings.wifiEnding = endings.ending(in: path, after: findings.lost)
      findings.portal = nil
      probes?.handle(.path(path.verdict))
      identify()
    }
    quality?.follow(path)
    announcements?.follow(path)
    let uplinksHaveChanged = uplinks?.follow(path) == true
    let cableHasChanged = cables?.follow(path, after: findings.lost) == true
    followPortal()
    update()
    if change == .interfaces { stages?.linksChanged(path, at: .now) } else { stages?.follow(path, findings.internet) }
    findings.stages = stages?.stages
    if change == .interfaces {
      if tellsEndings, endings.isNews(in: path, after: findings.lost) {
        findings.wifiEnding = endings.ending(in: path, after: findings.lost)
        republish()
      }
      if uplinksHaveChanged { republish(because: .uplinkChanged) }
      if cableHasChanged { republish(because: .cableChanged) }
    }
    publish(path.with(findings, reason: path.reason), change)
  }

  /// Stops everything.
  func stop() {
    endRequest()
    probes?.stop()
    quality?.stop()
    stages?.stop()
    announcements?.stop()
    uplinks?.stop()
    endQuestion()
    portals?.stop()
    if networkKey != nil { identityTimer.stop() }
  }

  private func update() {
    findings.internet = probes?.internet
    if findings.internet != .portal { findings.portal = nil }
    findings.quality = quality?.figures
    findings.announcements = announcements?.announcements
    findings.announcements?.captivePortal = portals?.portal
    findings.cable = cables?.cable
    findings.uplinks = uplinks?.uplinks
  }

  /// Publishes the last path again, with what was found out about it. Without a reason, and while nothing is reachable, the path keeps its
  /// own.
  private func republish(because reason: ReachabilityReason? = nil) {
    guard let path else { return }
    let reason = path.isReachable ? reason : nil
    update()
    if reason == .internetChanged { stages?.follow(path, findings.internet) }
    findings.stages = stages?.stages
    publish(path.with(findings, reason: reason ?? path.reason), .reachability)
  }

  private func take(_ quality: LinkQuality, at moment: EventTimestamp) {
    if qualityNews.take(quality, at: .nanoseconds(moment.monotonic)) { republish() }
  }

  // MARK: The internet

  private func ask(_ number: Int, over interface: InterfaceName) {
    guard let probe else { return }
    stages?.probeBegins()
    // Weak, because the task may end after everything else.
    let me = LoopBound({ [weak self] in self }, on: loop)
    let task = Task { [handle = loop.handle] in
      let answer = await probe.ask(over: interface.text)
      handle.submit { loop in me.value(on: loop)?()?.conclude(number, answer.access, answer.portal) }
    }
    request = (number, task)
  }

  private func conclude(_ number: Int, _ access: InternetAccess, _ portal: PortalURL?) {
    guard request?.number == number else { return }
    request = nil
    findings.portal = portal
    probes?.handle(.ended(number, access))
  }

  private func endRequest() {
    request?.task.cancel()
    request = nil
  }

  // MARK: The captive portal

  private func followPortal() {
    if let path { portals?.follow(announcements?.announcements, on: path) }
  }

  private func ask(_ number: Int, _ address: PortalURL, over interface: InterfaceName) {
    guard let portalAPI else { return }
    let servers = announcements?.nameServers ?? []
    let me = LoopBound({ [weak self] in self }, on: loop)
    let task = Task { [handle = loop.handle] in
      let portal = await portalAPI.ask(address, over: interface.text, nameServers: servers)
      handle.submit { loop in me.value(on: loop)?()?.concludeQuestion(number, portal) }
    }
    question = (number, task)
  }

  private func concludeQuestion(_ number: Int, _ portal: CaptivePortal?) {
    guard question?.number == number else { return }
    question = nil
    portals?.handle(.ended(number, portal))
  }

  private func endQuestion() {
    question?.task.cancel()
    question = nil
  }

  // MARK: The network

  private func identify() {
    guard let networkKey else { return }
    let facts = path?.isReachable == true ? networkFacts() : nil
    findings.network = facts.map { NetworkIdentity(of: $0, key: networkKey) }
    if path?.isReachable == true, facts == nil {
      identityTimer.set(after: Self.identityInterval)
    } else {
      identityTimer.stop()
    }
  }

  private func identifyAgain() {
    identify()
    if findings.network != nil { republish() }
  }
}
