import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchOptions
import NetwatchStream

/// The options of a source of lines.
package struct StatusOptions {
  /// The target and the rules of the monitor.
  package var configuration = MonitorConfiguration()
  /// Whether each record lists every link.
  package var listsInterfaces = false
  /// Whether there is also a record when a link without a carrier is switched on or off. JSON lines do not show that.
  package var tellsSwitching = false
  /// What a service is asked for. Default: nothing.
  package var service = ServiceUse.nothing
  /// What is counted as in flight if no service counts.
  package var activity = ActivitySettings()
  /// Whether requests are counted here: those that ``LocalStatus/setRequests(_:at:)`` sets.
  package var countsRequests = false
  /// Whether connections are watched only between ``LocalStatus/watchConnections(_:)`` and
  /// ``LocalStatus/restConnections()``.
  package var countsOnDemand = false
  /// Whether the first record is published at once, from netlink, even if a service is asked for the following ones. For a
  /// host whose name is still being resolved, the record has an unknown status.
  package var tellsFirstAtOnce = false
  /// The settings of internet probes; nil for no probes.
  package var probe: ProbeSettings?
  /// The settings of requests to the portal API of the network; nil for none. Then it is heard what the network says about itself.
  package var portal: PortalSettings?
  /// Whether rules decide about requests to the portal API, and not ``portal``.
  package var asksPortalByRule = false
  /// The time between two samples of traffic; nil for none.
  package var trafficInterval: Duration?
  /// Whether records have the quality of the link that carries the path.
  package var tellsQuality = false
  /// The network namespace that this process has entered. The records end with it. Default: nil.
  package var network: ForeignNetwork?
  /// Whether another record tells why WiFi has ended, if that becomes known only after the loss. Default: false.
  package var tellsEndings = false
  /// Whether records have the stages of the way to the internet. For complete stages, ``service`` must not be `.everything`.
  package var tellsStages = false
  /// Whether there is also a record when the state of a stage that does not fail is better known than before.
  package var tellsEachStage = false
  /// Whether empty datagrams are sent to a gateway that nothing proves to be alive.
  package var nudgesGateway = false
  /// Whether the reader asks for the ID of the network, which is only known if ``service`` is not `.everything`.
  package var namesNetwork = false
  /// Whether missing kernel features are reported.
  package var saysWhatIsMissing = false
  /// The closure that gets each sentence for people. Default: to standard error.
  package var warn: (_ sentence: String) -> Void = StandardError.warn
  /// The files of rules that count; nil for none.
  package var rules: RuleFiles?
  /// Makes the settings of the probe that a rule asks for. Nil if rules do not decide about probes.
  package var probeByRule: ((_ url: String) -> ProbeSettings)?
  /// The source of netlink data, and whether it is recorded.
  package var input = KernelInterface.kernel
  /// The trace that is replayed instead of following the kernel; ``input`` has to be from it. Nil, the default, follows the
  /// kernel.
  package var player: TracePlayer?

  /// Creates the default options.
  package init() {}

  /// Creates options from those that libnetwatch gets, as `name=value` or, for a flag, as `name`.
  ///
  /// - Throws: A `PlainError` about the first option that is unknown or invalid.
  package init(libraryOptions words: [String]) throws(PlainError) {
    self.init()
    var watch = WatchOptions()
    try OptionParser.read(libraryOptions: words, WatchOptions.options, into: &watch)
    try watch.check(dashes: "")
    if watch.trafficInterval != nil, !watch.traffic {
      throw PlainError("traffic-interval belongs to traffic; add traffic.")
    }
    configuration = watch.configuration
    configuration.wifi = watch.wifi
    tellsEndings = watch.wifi.includesDetails
    listsInterfaces = watch.listsInterfaces
    if watch.usesRuleFiles { rules = RuleFiles(for: .user, warn: { _ in }) }
    activity = try watch.activity(dashes: "")
    probe = watch.probe.settings
    if watch.asksPortal { portal = PortalSettings() }
    if watch.traffic { trafficInterval = watch.trafficInterval ?? .seconds(1) }
    configuration.hearsAnnouncements = watch.announced
    configuration.readsCable = watch.cable
    configuration.judgesUplinks = watch.each
    tellsQuality = watch.quality
    // Conditions may be about each stage.
    (tellsStages, tellsEachStage) = (watch.stages, watch.stages)
    nudgesGateway = watch.nudges
    namesNetwork = watch.namesNetwork
    service = watch.serviceUse(
      needsOwn: watch.stages || watch.needsOwn || watch.namesNetwork || watch.wifi.includesDetails
        || watch.wifi.includesAccessPoint)
  }

  /// What a service is used for now. It does not know the rules of this user.
  var serviceUse: ServiceUse { service == .everything && rules?.differsFromService == true ? .activity : service }
}

/// What a service is used for.
package enum ServiceUse {
  /// The service is not asked.
  case nothing
  /// The service is asked only for the activity, because its judgement of the path is not the wanted one.
  case activity
  /// The service is asked for the activity and the path.
  case everything
}

extension EventRecord.Event {
  /// The event of a record about a change of the path; nil if no record is about it.
  package init?(_ change: ReachabilityMachine.Change) {
    switch change {
    case .initial: self = .initial
    case .reachability: self = .reachability
    case .interfaces: self = .interfaces
    case .wifi: self = .wifi
    case .carriers: return nil
    }
  }
}
