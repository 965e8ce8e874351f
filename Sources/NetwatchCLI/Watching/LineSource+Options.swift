import Netwatch
import NetwatchEventLoop
import NetwatchNetlink
import NetwatchStream

extension LineSource {
  struct Options {
    var configuration = MonitorConfiguration()
    /// Whether each record lists every link.
    var listsInterfaces = false
    var service = ServiceUse.nothing
    /// What is counted as in flight where no service counts.
    var activity = ActivitySettings()
    /// Whether requests are counted here: those that are told to ``LineSource/setRequests(_:)``.
    var countsRequests = false
    /// How the internet is probed; nil does not.
    var probe: ProbeSettings?
    /// How often the counters of links are read; nil for never.
    var trafficInterval: Duration?
    /// Whether it is told how well the link works that carries the traffic.
    var tellsQuality = false
    /// Whether it is said on stderr what the kernel lacks.
    var saysWhatIsMissing = false
    /// What netlink says, and whether it is recorded.
    var input = NetlinkInput.kernel
    /// The trace that is played in the place of following the kernel; ``input`` is from it.
    var player: TracePlayer?
  }

  /// What a service is asked for.
  enum ServiceUse {
    case nothing
    /// Its judgement of the path is not the one that is wanted.
    case activity
    case everything
  }
}

extension EventRecord.Event {
  init(_ change: ReachabilityMachine.Change) {
    switch change {
    case .initial: self = .initial
    case .reachability: self = .reachability
    case .interfaces: self = .interfaces
    case .wifi: self = .wifi
    }
  }
}
