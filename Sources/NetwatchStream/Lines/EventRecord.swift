import Netwatch
import NetwatchEventLoop

/// One event of the stream: the complete state of the machine, and what has changed.
public struct EventRecord: Hashable, Sendable {
  /// What a record is about.
  public enum Event: String, Hashable, Sendable, CaseIterable {
    /// The state as it is when a reader comes.
    case initial
    /// The path has changed.
    case reachability
    /// The activity has changed.
    case activity
    /// A link has changed that does not carry the path. Only `netwatch --follow --interfaces` writes such lines.
    case interfaces
    /// Figures of what links carry. Only who asks for them gets such lines; they have the number of the last state.
    case traffic
    /// The signal of the WiFi network, or the access point. Only who asks for them gets such lines; they have the number of the
    /// last state.
    case wifi
    /// Figures of how well the link works that carries the traffic. Only who asks for them gets such lines; they have the number
    /// of the last state.
    case quality
    /// Another stage of the way to the internet than before fails first, or none does any more. Only who asks for stages gets
    /// such lines; they have the number of the last state.
    case stages
  }

  /// The state of the activity indicator that all programs share.
  public struct Activity: Hashable, Sendable {
    /// What the indicator does; `state.isVisible` says whether it is shown.
    public var state = ActivityState.inactive
    /// The number of requests that run.
    public var inFlight = 0
    /// The part of ``inFlight`` that is TCP connections of programs that announce nothing; nil if they are not counted.
    public var connections: Int?
    /// The part of ``inFlight`` that goes over UDP, such as QUIC: an estimate, 0 or 1 for all of it. Nil if it is not counted.
    public var datagrams: Int?

    public init() {}

    /// The part of ``inFlight`` that programs have announced.
    package var requests: Int {
      // Each may be any number; a difference of numbers from 0 always fits.
      max(max(inFlight, 0) - max(connections ?? 0, 0), 0) - max(datagrams ?? 0, 0)
    }
  }

  /// Why a record about the activity was published.
  public enum ActivityReason: String, Hashable, Sendable, CaseIterable {
    case requestBegan = "request_began"
    case requestEnded = "request_ended"
    case activationDelay = "activation_delay"
    case completionDelay = "completion_delay"
    case disabled
    /// The service that counted the requests is gone.
    case serviceLost = "service_lost"
  }

  /// The number of the record among those that its source has published, from 1.
  public var sequence: UInt64
  /// The time of the wall clock when the kernel's message was read, in nanoseconds since 1970 in UTC.
  public var nanosecondsSince1970: Int64
  /// The time of the monotonic clock when the kernel's message was read, in nanoseconds.
  public var monotonicNanoseconds: Int64
  /// What the record is about.
  public var event: Event
  /// How the machine is reachable, and why. A record from the service has no list of links.
  public var path: NetworkPath
  /// What the activity indicator shows, and how many requests run.
  public var activity = Activity()
  /// Why the activity has changed, if ``event`` is ``Event/activity``; the reason of every other record is that of its path.
  public var activityReason = ActivityReason.requestBegan
  /// Whether the line of the record lists all links.
  public var listsInterfaces = false
  /// What a probe of the internet has found; nil if none was made.
  public var internet: InternetAccess?
  /// What links carry, as it was sampled last: of the link that carries the traffic, and of the others if those were asked
  /// for. Nil if nobody asked.
  public var traffic: [LinkTraffic]?
  /// How well a link works, as it was looked at last: the one that carried the traffic then. Nil if that is not known.
  public var quality: LinkQuality?
  /// Whether the line of the record says how well the link works.
  public var tellsQuality = false
  private var rare = Rare.nothing

  /// What few readers ask for, apart so that every other record stays small.
  private indirect enum Rare: Hashable, Sendable {
    case nothing
    case known(stages: NetworkStages?, portalURL: PortalURL?)
  }

  /// How far the way to the internet works; nil if nobody asked.
  public var stages: NetworkStages? {
    get { if case .known(let stages, _) = rare { stages } else { nil } }
    set {
      let portal = portalURL
      rare = newValue == nil && portal == nil ? .nothing : .known(stages: newValue, portalURL: portal)
    }
  }

  /// Where the login page is that answers in place of the internet. Nil if there is none, or it does not say.
  public var portalURL: PortalURL? {
    get { if case .known(_, let portal) = rare { portal } else { nil } }
    set {
      let stages = stages
      rare = newValue == nil && stages == nil ? .nothing : .known(stages: stages, portalURL: newValue)
    }
  }

  public init(
    sequence: UInt64, nanosecondsSince1970: Int64, monotonicNanoseconds: Int64, event: Event, path: NetworkPath
  ) {
    self.sequence = sequence
    self.nanosecondsSince1970 = nanosecondsSince1970
    self.monotonicNanoseconds = monotonicNanoseconds
    self.event = event
    self.path = path
  }

  /// What the link that ``path`` names carries; nil where that is not known.
  public var carrierTraffic: LinkTraffic? {
    traffic?.first { $0.interfaceIndex == path.interfaceIndex && $0.kernelName == path.verdict.interfaceName }
  }

  /// How well the link works that ``path`` names; nil if that is not known.
  public var carrierQuality: LinkQuality? { quality.flatMap { $0.isOf(path.carrier) ? $0 : nil } }

  /// It is about this moment.
  package mutating func setDateToNow() {
    nanosecondsSince1970 = KernelClock.wall.nanoseconds
    monotonicNanoseconds = KernelClock.monotonic.nanoseconds
  }

  /// The reason that the line of the record gives: of a change of the activity or of figures, that; of everything else, the path's.
  public var reason: String {
    // Not `==`, which would compare the raw values, as text.
    switch event {
    case .activity: activityReason.rawValue
    case .traffic, .quality: "sampled"
    case .stages: "stage_changed"
    case .initial, .reachability, .interfaces, .wifi: path.reason.rawValue
    }
  }

  /// The state of this record, as the first record that a reader gets.
  package var asInitial: EventRecord {
    var first = self
    first.event = .initial
    if path.isReachable { first.path = path.with(reason: .initial) }
    return first
  }
}
