import NetlinkWire
import Netwatch
import NetwatchEventLoop
import NetwatchLibC

/// The source of all input of a monitor: the kernel, the kernel with recording to a trace, or a trace.
///
/// No other code knows which of these is used. A trace is recorded from a source with one watcher.
package struct KernelInterface {
  /// The reason why netwatch reads from the kernel. Everything else that it reads follows from one of these.
  package enum WakeReason: Hashable, Sendable {
    /// The beginning, or a request to read everything again.
    case start
    /// A socket for events became readable.
    case turn(NetlinkTransport.Channel)
    /// A timer of the machine fired.
    case timer(ReachabilityMachine.Timer)
    /// The machine was suspended.
    case resumed
    /// The addresses of the target's host, the best one first.
    case resolved([InternetAddress])
    /// No name server could be asked for the addresses.
    case unresolved
    /// It is time to read the counters of links.
    case sampling
    /// It is time to read the signal of the WiFi network.
    case signal
    /// It is time to list the TCP connections, for the quality of the link.
    case quality
    /// A DHCP client has written a lease.
    case leases
    /// Something else than netlink's news of the path has changed: what the network says, the cable or an uplink; or the network
    /// namespace is gone.
    case found(ReachabilityReason)
  }

  /// What the sockets are connected to.
  package let transport: NetlinkTransport
  /// Waits for a time in microseconds.
  let pause: (UInt32) -> Void
  /// Performs `body`, which starts to follow news on the loop. A replay does not, because the trace already has the news.
  let follow: (_ body: () throws -> Void) throws -> Void
  /// Returns the namespaces that belong to this process alone.
  let namespaces: () -> IsolatedNamespaces
  let traits: (_ name: String, _ index: Int32, _ hardwareAddress: UInt64?) -> DeviceTraits
  /// Returns whether the DHCP lease of an address marks the network as metered. A trace has records only of those that do.
  let lease: (_ link: String, _ index: Int32, _ address: InternetAddress) -> Bool
  /// Returns the connections that `list` finds, or those of a trace; nil if the list is incomplete. A trace has only the
  /// numbers that the quality of a link is calculated from, and no address.
  let connections: (_ list: () -> [ConnectionFacts]?) -> [ConnectionFacts]?
  /// Notes that something was found out apart from the news of netlink, and when. A replay has that from its trace.
  package let noteFound: (ReachabilityReason, EventTimestamp) -> Void
  /// Returns whether a change of links is news in this respect: what `find` returns, or what a trace says.
  package let isNews: (_ reason: ReachabilityReason, _ find: () -> Bool) -> Bool
  /// Returns what was found out apart from netlink when the line of a trace was printed; nil if there is no trace to ask. A recording
  /// notes what `find` returns: JSON, or nil if nothing was to be found out.
  package let findings: (_ find: () -> String?) -> JSONValue?
  /// Returns the time of a cause. To be called before anything is read because of that cause.
  let moment: (WakeReason) -> EventTimestamp
  /// Returns whether the trace is at its end, so that further conclusions would have no basis.
  let isLost: () -> Bool
  /// Sets the closure that is called once if nothing more can be recorded or replayed.
  package let onFailure: (@escaping (any Error) -> Void) -> Void
}

extension KernelInterface {
  /// The input from the kernel that this process runs on.
  package static var kernel: KernelInterface {
    KernelInterface(
      transport: .kernel,
      pause: { time in _ = usleep(time) },
      follow: { body in try body() },
      namespaces: { .ofThisProcess },
      traits: DeviceIdentity().traits(name:index:hardwareAddress:),
      lease: DHCPLeases().isMetered(link:index:address:),
      connections: { list in list() },
      noteFound: { _, _ in },
      isNews: { _, find in find() },
      findings: { _ in nil },
      moment: EventTimestamp.now(for:),
      isLost: { false },
      onFailure: { _ in })
  }
}

/// The time at which the kernel's message was read.
package struct EventTimestamp: Hashable, Sendable {
  /// The time of the monotonic clock, in nanoseconds.
  package let monotonic: Int64
  /// The time of the wall clock, in nanoseconds since 1970 in UTC.
  package let wall: Int64
  /// The total time that the machine has been suspended since its start, in nanoseconds. It is read for samples of counters and
  /// of connections, and 0 otherwise.
  package var suspended: Int64

  package init(monotonic: Int64, wall: Int64, suspended: Int64 = 0) {
    (self.monotonic, self.wall, self.suspended) = (monotonic, wall, suspended)
  }

  /// Creates the timestamp of a time of the monotonic clock that has passed.
  package init(monotonic date: Duration) {
    let now = EventTimestamp.now
    let age = Duration.nanoseconds(now.monotonic) - date
    self.init(monotonic: date.nanoseconds, wall: (.nanoseconds(now.wall) - age).nanoseconds)
  }

  /// The current time.
  package static var now: EventTimestamp {
    EventTimestamp(monotonic: KernelClock.monotonic.nanoseconds, wall: KernelClock.wall.nanoseconds)
  }

  static func now(for cause: KernelInterface.WakeReason) -> EventTimestamp {
    var moment = now
    switch cause {
    case .sampling, .quality: moment.suspended = max(0, KernelClock.boot.nanoseconds - moment.monotonic)
    default: break
    }
    return moment
  }
}
