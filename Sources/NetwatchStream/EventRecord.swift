import Netwatch

/// One line of the event stream: complete state, and what it is about.
public struct EventRecord: Hashable, Sendable {
  /// What a line is about.
  public enum Event: String, Hashable, Sendable, CaseIterable {
    case initial, reachability, activity, interfaces
  }

  /// What the activity indicator shows.
  public struct Activity: Hashable, Sendable {
    /// `inactive`, `delaying-start`, `active` or `delaying-end`.
    public var state = "inactive"
    public var isVisible = false
    /// Requests that run.
    public var inFlight = 0

    public init() {}
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
  /// Whether the line lists all links.
  public var listsInterfaces = false

  public init(
    sequence: UInt64, nanosecondsSince1970: Int64, monotonicNanoseconds: Int64, event: Event, path: NetworkPath
  ) {
    self.sequence = sequence
    self.nanosecondsSince1970 = nanosecondsSince1970
    self.monotonicNanoseconds = monotonicNanoseconds
    self.event = event
    self.path = path
  }
}
