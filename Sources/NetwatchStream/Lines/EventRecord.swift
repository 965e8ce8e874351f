import Netwatch
import NetwatchEventLoop

/// One event of the stream: the complete state of the machine, and which part of it has changed.
public struct EventRecord: Hashable, Sendable {
  /// The kind of a record: which part of the state it is about.
  public enum Event: String, Hashable, Sendable, CaseIterable {
    /// The current state, as the first record that a reader gets.
    case initial
    /// The path has changed.
    case reachability
    /// The activity has changed.
    case activity
    /// The list of links has changed, but the path has not. Only readers that ask for `interfaces` get such lines; the service
    /// never sends them.
    case interfaces
    /// The traffic of links was sampled. Only readers that ask for traffic get such records. Their ``EventRecord/sequence`` is
    /// that of the last state.
    case traffic
    /// The signal of the WiFi network has changed, or the link has joined another access point of it. Only readers that ask for
    /// this get such records. Their ``EventRecord/sequence`` is that of the last state.
    case wifi
    /// The quality of the link that carries the path was sampled. Only readers that ask for quality get such records. Their
    /// ``EventRecord/sequence`` is that of the last state.
    case quality
    /// The first failing stage of the way to the internet is another one than before, or no stage fails any more. Only readers
    /// that ask for stages get such records. Their ``EventRecord/sequence`` is that of the last state.
    case stages
  }

  /// The state of the activity indicator that all programs share, and the number of requests in flight.
  public struct Activity: Hashable, Sendable {
    /// The state of the indicator; `state.isVisible` tells whether it is shown. Default: inactive.
    public var state = ActivityState.inactive
    /// The number of requests that run. Default: 0.
    public var inFlight = 0
    /// The part of ``inFlight`` that is TCP connections, of all programs. Nil if they are not counted.
    public var connections: Int?
    /// The part of ``inFlight`` that uses UDP, such as QUIC. This is an estimate: 0, or 1 for all of it together. Nil if it is
    /// not counted.
    public var datagrams: Int?

    /// Creates the state of an inactive indicator without requests.
    public init() {}

    /// The part of ``inFlight`` that programs have announced as requests.
    package var requests: Int {
      // The parts may be any numbers; a difference of two numbers from 0 up always fits.
      max(max(inFlight, 0) - max(connections ?? 0, 0), 0) - max(datagrams ?? 0, 0)
    }
  }

  /// The reason why a record about the activity was published.
  public enum ActivityReason: String, Hashable, Sendable, CaseIterable {
    /// A request has begun.
    case requestBegan = "request_began"
    /// A request has ended.
    case requestEnded = "request_ended"
    /// The activation delay is over.
    case activationDelay = "activation_delay"
    /// The completion delay is over.
    case completionDelay = "completion_delay"
    /// The indicator was disabled.
    case disabled
    /// The service that counted the requests is gone.
    case serviceLost = "service_lost"
  }

  /// The number of the record among those that its source has published. The first record has the number 1.
  public var sequence: UInt64
  /// The time of the event, in nanoseconds since 1970 in UTC: when the kernel's message was read, or when netwatch noticed an event
  /// that no message announces.
  public var nanosecondsSince1970: Int64
  /// The time of the event by the monotonic clock, in nanoseconds: when the kernel's message was read, or when netwatch noticed an
  /// event that no message announces.
  public var monotonicNanoseconds: Int64
  /// The kind of the record.
  public var event: Event
  /// How the machine is reachable, and why. A record from the service does not list the links.
  public var path: NetworkPath
  /// The state of the activity indicator and the number of requests in flight.
  public var activity = Activity()
  /// The reason for a change of the activity if ``event`` is ``Event/activity``. For the reason of any record, read ``reason``.
  public var activityReason = ActivityReason.requestBegan
  /// Whether the line of the record lists all links.
  public var listsInterfaces = false
  /// The result of the last probe of the internet; nil if none was made.
  public var internet: InternetAccess?
  /// The traffic of links at the last sample: of the link that carries the path, and of other links if they were asked for. Nil
  /// if traffic was not asked for. In an ``EventStream``, only records of the event ``Event/traffic`` have it.
  public var traffic: [LinkTraffic]?
  /// The quality of the link that carried the path, as of the last sample. Nil if it is not known.
  public var quality: LinkQuality?
  /// Whether the line of the record has the quality of the link.
  public var tellsQuality = false
  /// The interface that carried the traffic before. In the record of the change from it to another one, and in every record while
  /// nothing is reachable. Otherwise nil, or if netwatch has not seen an interface carry traffic.
  public var lost: NetworkPath.LostInterface?
  /// Why the WiFi network was left, or was not joined; nil if that is not known, or has not happened.
  public var wifiEnding: WiFiEnding?
  /// The stages of the way to the internet and which of them work; nil if stages were not asked for.
  public var stages: NetworkStages?
  /// The address of the login page of the captive portal. Nil if there is no portal, or it does not give an address.
  public var portalURL: PortalURL?
  /// What the network has said about itself; nil if that was not asked for.
  public var announcements: NetworkAnnouncements?

  /// What the driver of the wired link says about its cable: of the link that carries the path, or of one that lacks its carrier while
  /// nothing is reachable. Nil if it says nothing.
  public var cable: CableState?
  /// Whether the line of the record has what is known of the cable.
  public var tellsCable = false

  /// Each link that could carry the traffic, judged as if it were the only one; nil if that was not asked for.
  public var uplinks: [Uplink]?

  /// How IPv4 is translated; nil if that was not asked for, or nothing is known of it.
  public var translation: IPv4Translation? { announcements.flatMap { path.translation($0) } }

  /// The address of the login page: the one that the network itself names while a login is needed, else ``portalURL``.
  public var loginPage: PortalURL? {
    if let portal = announcements?.captivePortal, portal.isCaptive, let page = portal.loginPage { return page }
    return portalURL
  }

  /// Creates a record; the properties that are not named here have their defaults.
  ///
  /// - Parameters:
  ///   - sequence: The number of the record, from 1.
  ///   - nanosecondsSince1970: The time of the wall clock, in nanoseconds since 1970 in UTC.
  ///   - monotonicNanoseconds: The time of the monotonic clock, in nanoseconds.
  ///   - event: The kind of the record.
  ///   - path: How the machine is reachable, and why.
  public init(
    sequence: UInt64, nanosecondsSince1970: Int64, monotonicNanoseconds: Int64, event: Event, path: NetworkPath
  ) {
    self.sequence = sequence
    self.nanosecondsSince1970 = nanosecondsSince1970
    self.monotonicNanoseconds = monotonicNanoseconds
    self.event = event
    self.path = path
  }

  /// The traffic of ``path``: of its link, or the sum over the links if it goes over several, which the property `links` lists then.
  /// Nil if it is not known.
  public var carrierTraffic: LinkTraffic? { LinkTraffic(sumOf: carriersTraffic) }

  /// The traffic of each link that ``path`` goes over, that of its own link first. Empty if it is not known.
  package var carriersTraffic: [LinkTraffic] {
    guard let traffic,
      let own = traffic.first(where: { $0.interfaceIndex == path.interfaceIndex && $0.kernelName == path.kernelName })
    else { return [] }
    return [own] + traffic.filter { $0.carriesPath && $0.interfaceIndex != own.interfaceIndex }
  }

  /// The quality of the link that ``path`` uses; nil if it is not known.
  public var carrierQuality: LinkQuality? { quality.flatMap { $0.isOf(path.carrier) ? $0 : nil } }

  /// Sets both times of the record to the current time.
  package mutating func setDateToNow() {
    nanosecondsSince1970 = KernelClock.wall.nanoseconds
    monotonicNanoseconds = KernelClock.monotonic.nanoseconds
  }

  /// The word that the line of the record has as its `reason`. For a change of the activity, it is the reason of the activity. For
  /// the events `interfaces`, `traffic`, `quality` and `stages`, it is a fixed word. For all other events, it is the reason of the path.
  public var reason: String {
    // Not `==`, because it would compare the raw values as text.
    switch event {
    case .activity: activityReason.rawValue
    case .traffic, .quality: "sampled"
    case .stages: "stage_changed"
    case .interfaces: ReachabilityReason.interfaceChanged.rawValue
    case .initial, .reachability, .wifi: path.reason.rawValue
    }
  }

  /// The state of this record as the first record that a reader gets.
  package var asInitial: EventRecord {
    var first = self
    first.event = .initial
    if path.isReachable {
      first.path = path.with(reason: .initial)
      first.lost = nil
      first.wifiEnding = nil
    }
    return first
  }
}

extension EventRecord: CustomStringConvertible {
  /// The kind, the path and the activity, such as `reachability: wired eth0, 10.0.0.2; inactive, 0 in flight`.
  public var description: String { "\(event.rawValue): \(path); \(activity)" }
}

extension EventRecord.Activity: CustomStringConvertible {
  /// The state and the number of requests, such as `active, 3 in flight`.
  public var description: String { "\(state), \(inFlight) in flight" }
}

extension EventRecord {
  /// What the record says besides the verdict of its path.
  package var findings: NetworkPath.Findings {
    var findings = NetworkPath.Findings()
    (findings.internet, findings.portal, findings.stages) = (internet, portalURL, stages)
    (findings.quality, findings.lost, findings.announcements) = (carrierQuality, lost, announcements)
    (findings.cable, findings.wifiEnding, findings.uplinks) = (cable, wifiEnding, uplinks)
    return findings
  }

  /// Returns a sentence that says whether this machine is online, over which interface, and if not, why.
  ///
  /// - Parameters:
  ///   - target: The target that the path of the record leads to. Unless it is the internet, the sentence names it.
  ///   - counts: Decides by name which interfaces count. Default: nil, all.
  package func answer(about target: NetworkTarget, counts: ((_ name: String) -> Bool)? = nil) -> String {
    path.answer(about: target, findings, counts: counts)
  }

  /// Returns this state as the next record after a known one; nil if there is no difference.
  package func successor(of known: EventRecord, becauseOf reason: ActivityReason) -> EventRecord? {
    var next = self
    if !path.saysTheSame(as: known.path) {
      next.event = .reachability
      // The reason "initial" is only for the first line.
      if path.reason == .initial { next.path = path.with(reason: .resynced) }
      return next
    }
    guard activity != known.activity else { return nil }
    next.event = .activity
    next.activityReason = reason
    return next
  }

  /// Returns the reason why the activity differs from the known one. A record about something else does not have this reason
  /// itself.
  package func activityReason(after known: Activity?, hasLostService: Bool) -> ActivityReason {
    guard event != .activity, let known else { return activityReason }
    if activity.inFlight > known.inFlight { return .requestBegan }
    if hasLostService { return .serviceLost }
    if activity.inFlight < known.inFlight { return .requestEnded }
    return activity.state.isVisible ? .activationDelay : .completionDelay
  }
}

extension NetworkPath {
  /// Returns whether two paths are equal in everything that a line has.
  package func saysTheSame(as other: NetworkPath) -> Bool {
    // A path of this process has the index of each family's link, a path of a service does not.
    func says(_ path: FamilyPath?) -> FamilyPath? {
      path.map { FamilyPath(address: $0.address, gateway: $0.gateway, interfaceIndex: 0, kernelName: $0.kernelName) }
    }
    return status == other.status && medium == other.medium && kernelName == other.kernelName
      && interfaceIndex == other.interfaceIndex && verdict.cost == other.verdict.cost && says(ipv4) == says(other.ipv4)
      && says(ipv6) == says(other.ipv6) && vpn?.kernelName == other.vpn?.kernelName && vpn?.kind == other.vpn?.kind
      && vpn?.isCarrierKnown == other.vpn?.isCarrierKnown && vpn?.families == other.vpn?.families
      && wifi?.ssid == other.wifi?.ssid
  }
}
