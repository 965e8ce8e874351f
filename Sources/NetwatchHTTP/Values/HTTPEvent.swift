import FoundationEssentials
import HTTPTypes

/// Something that has happened to a task of a session.
///
/// Each task begins with ``Kind/created`` and ends with ``Kind/finished(_:_:)``, which only ``Kind/serialized(_:after:)`` may
/// follow, unless the session was invalidated before it took the task.
public struct HTTPEvent: Sendable {
  public enum Kind: Sendable {
    /// The task was made. It may be suspended.
    case created
    /// The task waits for a path to the network.
    case waiting
    /// An attempt begins: the request as it is sent, but for what libcurl adds. The first attempt has the number 1.
    ///
    /// An attempt that the session's cache answers is not sent, but counts: see ``HTTPMetrics/cacheUse``.
    case sent(HTTPRequest, attempt: Int)
    case suspended
    case resumed
    /// The head of a response. It is not the last one if a redirect, a challenge or a retry follows.
    case received(HTTPResponse)
    /// A redirect is followed, to this request.
    case redirected(HTTPRequest)
    /// An interceptor wants another attempt after this time. The error is nil if the attempt has brought a response.
    case retrying(after: Duration, HTTPError?)
    /// The transfer is over. What a serializer makes of the response is not part of it. The metrics are those of the last
    /// attempt.
    case finished(Result<HTTPResponse, HTTPError>, HTTPMetrics)
    /// A serializer has made a value of the response, or refuses it; the duration is the time that it has taken. Only for a
    /// response that has come whole and that a serializer or a decoder reads, and not if the session ends meanwhile.
    case serialized(Result<any Sendable, HTTPError>, after: Duration)
  }

  /// The task that the event is about.
  public let task: HTTPTaskInfo
  /// The request that the task was made of.
  public let request: HTTPRequest
  /// When it happened, by the clock of the system.
  public let date: Date
  public let kind: Kind
}
