import FoundationEssentials
import HTTPTypes

/// Something that has happened to a task of a session.
///
/// The first event of a task is ``Kind/created``. ``Kind/finished(_:_:)`` ends the transfer; only ``Kind/serialized(_:after:)``
/// can come after it. There are no events if the session was invalidated before it took the task.
public struct HTTPEvent: Sendable {
  /// The kinds of events, in about the order in which they happen.
  public enum Kind: Sendable {
    /// The task was made, but may not have begun.
    case created
    /// The task waits for a path to the network.
    case waiting
    /// An attempt begins. The request is the one that is sent, without what libcurl adds. The first attempt has the number 1.
    ///
    /// An attempt that the session's cache answers is counted although nothing is sent: see ``HTTPMetrics/cacheUse``.
    case sent(HTTPRequest, attempt: Int)
    /// The task was suspended.
    case suspended
    /// The task continues after it was suspended.
    case resumed
    /// The head of a response has arrived. Each attempt has its own event, so a task with a redirect, a challenge or a retry has
    /// several.
    case received(HTTPResponse)
    /// A redirect is followed. The request is the one that is sent next.
    case redirected(HTTPRequest)
    /// An interceptor has asked for another attempt after this time. The error is nil if the attempt has brought a response.
    case retrying(after: Duration, HTTPError?)
    /// The transfer is over; serialization is not part of it. The metrics are those of the last attempt.
    case finished(Result<HTTPResponse, HTTPError>, HTTPMetrics)
    /// A serializer has made a value from the response, or has failed. The duration is the time that it took.
    ///
    /// This event only comes for a complete response that a serializer or a decoder reads, and not if the session ends first.
    case serialized(Result<any Sendable, HTTPError>, after: Duration)
  }

  /// The task that the event is about.
  public let task: HTTPTaskInfo
  /// The request that the task was made with.
  public let request: HTTPRequest
  /// The time of the event by the system's clock.
  public let date: Date
  /// The kind of the event, with its details.
  public let kind: Kind
}
