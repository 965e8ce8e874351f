import Netwatch

/// One line of the event stream: complete state, and what it is about.
public struct EventRecord: Hashable, Sendable {
  /// What a line is about.
  public enum Event: String, Hashable, Sendable, CaseIterable {
    case initial, reachability, activity, interfaces
  }

  /// What the activity indicator shows.
  public struct Activity: Hashable, Sendable {
    public var state = ActivityState.inactive
    /// Requests that run.
    public var inFlight = 0
    /// How many of these are TCP connections of programs that announce nothing; nil where those are not counted.
    public var connections: Int?

    public init() {}
  }

  /// A program with TCP connections in flight. No record has them: a line names programs where that was asked for.
  public struct ProgramCount: Hashable, Sendable {
    /// As `ps` shows it.
    public let name: String
    public let connections: Int

    public init(name: String, connections: Int) {
      self.name = name
      self.connections = connections
    }
  }

  /// Why an activity line was published.
  public enum ActivityReason: String, Hashable, Sendable, CaseIterable {
    case requestBegan = "request_began"
    case requestEnded = "request_ended"
    case activationDelay = "activation_delay"
    case completionDelay = "completion_delay"
    case disabled
    /// The service that counted the requests is gone.
    case serviceLost = "service_lost"
  }

  /// Counts what its source has published, from 1.
  public var sequence: UInt64
  /// The wall clock when the kernel's message was read: nanoseconds since 1970 in UTC.
  public var nanosecondsSince1970: Int64
  /// The monotonic clock at the same moment, in nanoseconds.
  public var monotonicNanoseconds: Int64
  public var event: Event
  /// Its status, links and reason.
  public var path: NetworkPath
  public var activity = Activity()
  /// The reason of an `activity` line; the others have the path's.
  public var activityReason = ActivityReason.requestBegan
  /// Whether the line lists all links.
  public var listsInterfaces = false
  /// What a probe of the internet has found; nil where none is made.
  public var internet: InternetAccess?

  public init(
    sequence: UInt64, nanosecondsSince1970: Int64, monotonicNanoseconds: Int64, event: Event, path: NetworkPath
  ) {
    self.sequence = sequence
    self.nanosecondsSince1970 = nanosecondsSince1970
    self.monotonicNanoseconds = monotonicNanoseconds
    self.event = event
    self.path = path
  }

  /// Of the line.
  package var reason: String {
    // Not `==`, which would compare the raw values, as text.
    if case .activity = event { activityReason.rawValue } else { path.reason.rawValue }
  }

  /// The same state, as the first line that a reader gets.
  package var asInitial: EventRecord {
    var first = self
    first.event = .initial
    if path.isReachable { first.path = path.with(reason: .initial) }
    return first
  }
}
