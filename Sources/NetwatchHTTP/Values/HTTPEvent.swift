import FoundationEssentials
import HTTPTypes
import Netwatch

/// Something that has happened to a task of a session.
///
/// The first event of a task is ``Kind/created``. ``Kind/finished(_:_:_:)`` ends the transfer; only
/// ``Kind/serialized(_:after:by:)`` can come after it. There are no events if the session was invalidated before it took the task.
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
    /// The transfer is over; serialization is not part of it. The metrics are those of the last attempt. The body is that of
    /// the response.
    case finished(Result<HTTPResponse, HTTPError>, HTTPMetrics, Body)
    /// A serializer has made a value from the response, or has failed. The duration is the time that it took. The text is the
    /// name of its type, such as `TextResponseSerializer`.
    ///
    /// This event only comes for a complete response that a serializer or a decoder reads, and not if the session ends first.
    case serialized(Result<any Sendable, HTTPError>, after: Duration, by: String)
  }

  /// The body of a response, in ``Kind/finished(_:_:_:)``.
  public struct Body: Sendable {
    /// The number of bytes that were delivered, without content encoding. If the task has failed, the bytes until then.
    public let count: Int64
    /// The whole body of a response that is kept in memory. Nil for a download, a stream and a failed task.
    ///
    /// It is the body that the caller gets, not a copy, so whoever keeps the event keeps the body in memory.
    /// ``HTTPSessionManager/taskEvents(bufferingNewest:includesBodies:)`` leaves it out unless you ask for it.
    public let data: Data?
    /// The file of a download. Nil for other tasks and for a failed one.
    public let file: URL?
  }

  /// The task that the event is about.
  public let task: HTTPTaskInfo
  /// The request that the task was made with.
  public let request: HTTPRequest
  /// The time of the event by the system's clock.
  public let date: Date
  /// The kind of the event, with its details.
  public let kind: Kind

  /// This event without the body that is kept in memory.
  var withoutData: HTTPEvent {
    guard case .finished(let result, let metrics, let body) = kind, body.data != nil else { return self }
    let rest = Body(count: body.count, data: nil, file: body.file)
    return HTTPEvent(task: task, request: request, date: date, kind: .finished(result, metrics, rest))
  }
}

/// An observer of everything that happens to the tasks of a session, for logs, metrics and traces. See
/// ``HTTPSessionConfiguration/eventObservers``.
public protocol HTTPEventObserver: Sendable {
  /// Handles an event. Called on the session's thread, in the order of the events.
  ///
  /// Nothing is sent or received while this method runs, so keep it short. The completion of a task may run before its last
  /// events arrive here.
  ///
  /// A session whose ``HTTPThreads`` are several threads calls this method on each of them, possibly at the same time. The events of one
  /// task arrive on one thread, in order.
  func handle(_ event: HTTPEvent)
}

/// Information that identifies a task: its id, its kind and its label.
public struct HTTPTaskInfo: Hashable, Sendable {
  /// The state of a task or of a download.
  public enum State: Hashable, Sendable {
    /// The task has not begun, or was suspended.
    case suspended
    /// The task waits for a path to the network, or for the delay before another attempt.
    case waiting
    /// The task is running.
    case running
    /// The task is over. Its completion has run, or is about to run.
    case finished
  }

  /// The kinds of tasks, by how they handle the response.
  public enum Kind: Hashable, Sendable {
    /// The response is kept in memory, or decoded.
    case data
    /// An upload function sends a body, and the response is kept in memory.
    case upload
    /// The response is written to a file.
    case download
    /// The response is read while it arrives.
    case stream
  }

  /// The id by which a `RequestObserver` knows the task.
  public let id: RequestID
  /// The kind of the task.
  public let kind: Kind
  /// The task's ``HTTPTaskOptions/label``. Nil if it has none.
  public let label: String?
}

/// A failed attempt to send a request: it ended with an error, or with a status of 400 or above.
public struct HTTPFailedAttempt: Sendable {
  /// The task that the attempt belongs to.
  public let task: HTTPTaskInfo
  /// The request that was sent. After redirects, it differs from the request of the task.
  public let request: HTTPRequest
  /// The head of the response. Nil if there is none.
  public let response: HTTPResponse?
  /// The error of the attempt. Nil if the attempt has brought a response.
  public let error: HTTPError?
  /// The number of attempts that the interceptor has already asked for. 0 at the first failure of a task.
  public internal(set) var retries: Int
}
