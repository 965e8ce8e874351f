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
  /// The wall clock when the kernel's message was read, since 1970 in UTC.
  public var time: Duration
  /// The monotonic clock at the same moment.
  public var monotonicTime: Duration
  public var event: Event
  /// Its status, links and reason.
  public var path: NetworkPath
  public var activity = Activity()
  /// Whether the line lists all links.
  public var listsInterfaces = false

  public init(sequence: UInt64, time: Duration, monotonicTime: Duration, event: Event, path: NetworkPath) {
    self.sequence = sequence
    self.time = time
    self.monotonicTime = monotonicTime
    self.event = event
    self.path = path
  }
}
