import Glibc
import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

/// One monitor and one indicator for everyone: `netwatch serve`.
final class Service {
  private let manager: ServiceManager
  private let settings: ActivitySettings
  private let loop: EventLoop
  private var server: EventServer?
  private var reachability: NetlinkReachability?
  private var activity: ActivityCounter?
  private var signals: SignalSource?
  private var record: EventRecord?
  /// Why the activity has changed in this turn; nil if it has not.
  private var activityReason: EventRecord.ActivityReason?
  private var failure: (any Error)?

  init(manager: ServiceManager, _ settings: ActivitySettings) throws {
    self.manager = manager
    self.settings = settings
    loop = try EventLoop()
  }

  /// Serves until SIGTERM or SIGINT.
  func run(_ socket: ListeningSocket, connectionLimit: Int, saysWhatIsMissing: Bool) throws {
    activity = ActivityCounter(settings, on: loop) { [unowned self] in activityReason = $0 }
    activity?.warnOfUnseenPrograms()
    let reachability = try NetlinkReachability(
      on: NetlinkSource(on: loop), configuration: MonitorConfiguration(),
      handlers: .init(
        publish: { [unowned self] path, change, moment in publish(path, change, moment) },
        fail: { [unowned self] error in
          failure = error
          loop.stop()
        }))
    try reachability.start()
    if saysWhatIsMissing { reachability.reportMissingFeatures() }
    self.reachability = reachability
    let server = try EventServer(
      socket, on: loop, connectionLimit: connectionLimit,
      identity: ServiceIdentity(version: NetwatchTool.configuration.version, counts: settings.choice.counts),
      handlers: .init(
        requestsChanged: { [unowned self] in activity?.setRequests($0) },
        statistics: { [unowned self] in statistics },
        prepareGreeting: { [unowned self] greet in prepare(greet) },
        lastSubscriberLeft: { [unowned self] in activity?.rest() }))
    self.server = server
    if let record { server.publish(record) }
    loop.onTurnEnd = { [unowned self] in publishActivity() }
    signals = try SignalSource([SIGTERM, SIGINT, SIGHUP], on: loop) { [unowned self] in obey($0.number) }
    feedWatchdog()
    manager.notify("READY=1")
    try loop.run()
    manager.notify("STOPPING=1")
    if let failure { throw failure }
  }

  private var statistics: ServiceStatistics {
    let statistics = reachability?.statistics ?? MonitorStatistics()
    return ServiceStatistics(
      transitions: UInt64(clamping: statistics.transitions), netlinkOverruns: UInt64(clamping: statistics.overruns))
  }

  // MARK: Publishing

  private func publish(
    _ path: NetworkPath, _ change: ReachabilityMachine.Change, _ moment: Moment
  ) {
    // Every link's list is for those who watch netlink themselves.
    if case .interfaces = change { return }
    send(path, .init(change), moment)
  }

  private func publishActivity() {
    // A client that turns out to be dead while it is told takes its requests with it: that is news again.
    while let reason = activityReason, let path = record?.path {
      activityReason = nil
      guard activity?.activity != record?.activity else { return }
      record?.activityReason = reason
      send(path, .activity, .now)
    }
  }

  /// Connections are looked at while somebody watches; who comes first waits for a look.
  private func prepare(_ greet: @escaping () -> Void) {
    guard let activity else { return greet() }
    activity.watch { [unowned self] in
      publishActivity()
      greet()
    }
  }

  private func send(_ path: NetworkPath, _ event: EventRecord.Event, _ moment: Moment) {
    var next = EventRecord(
      sequence: (record?.sequence ?? 0) + 1, nanosecondsSince1970: moment.wall,
      monotonicNanoseconds: moment.monotonic, event: event, path: path)
    if let activity { next.activity = activity.activity }
    if let record { next.activityReason = record.activityReason }
    record = next
    server?.publish(next)
  }

  // MARK: Signals and systemd

  private func obey(_ signal: CInt) {
    guard signal == SIGHUP else { return loop.stop() }
    manager.notify("RELOADING=1\nMONOTONIC_USEC=\(KernelClock.monotonic.nanoseconds / 1_000)")
    reachability?.resync()
    manager.notify("READY=1")
  }

  private func feedWatchdog() {
    guard let interval = manager.watchdogInterval else { return }
    manager.feedWatchdog()
    loop.schedule(after: interval / 2) { [unowned self] in feedWatchdog() }
  }
}
