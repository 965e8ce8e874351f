import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

extension LineSource {
  package struct Options {
    package var configuration = MonitorConfiguration()
    /// Whether each record lists every link.
    package var listsInterfaces = false
    package var service = ServiceUse.nothing
    /// What is counted as in flight where no service counts.
    package var activity = ActivitySettings()
    /// Whether requests are counted here: those that are told to ``LineSource/setRequests(_:)``.
    package var countsRequests = false
    /// Whether connections are looked at only between ``LineSource/watchConnections(_:)`` and ``LineSource/restConnections()``.
    package var countsOnDemand = false
    /// Whether the first record comes at once, from netlink even if a service is asked for those that follow. Of a host whose name is
    /// still looked up it says that nothing is known.
    package var tellsFirstAtOnce = false
    /// How the internet is probed; nil does not.
    package var probe: ProbeSettings?
    /// How often the counters of links are read; nil for never.
    package var trafficInterval: Duration?
    /// Whether it is told how well the link works that carries the traffic.
    package var tellsQuality = false
    /// Whether it is told which stage of the way to the internet fails. For all of it, ``service`` is no more than `.activity`.
    package var tellsStages = false
    /// Whether there is also a record when a stage that does not fail is known better than before.
    package var tellsEachStage = false
    /// Whether a gateway that nothing proves to be alive is sent empty datagrams.
    package var nudgesGateway = false
    /// Whether it is said what the kernel lacks.
    package var saysWhatIsMissing = false
    /// Gets each sentence for people.
    package var say: (_ sentence: String) -> Void = StandardError.tell
    /// What netlink says, and whether it is recorded.
    package var input = NetlinkInput.kernel
    /// The trace that is played in the place of following the kernel; ``input`` is from it.
    package var player: TracePlayer?

    package init() {}
  }

  /// What a service is asked for.
  package enum ServiceUse {
    case nothing
    /// Its judgement of the path is not the one that is wanted.
    case activity
    case everything
  }
}

extension EventRecord.Event {
  package init(_ change: ReachabilityMachine.Change) {
    switch change {
    case .initial: self = .initial
    case .reachability: self = .reachability
    case .interfaces: self = .interfaces
    case .wifi: self = .wifi
    }
  }
}
